import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('../engine/host.ts', import.meta.url));

describe('a host process', () => {
  it('exits when its parent exits before its modules are loaded', async () => {
    const host = fork(HOST, [], { stdio: 'ignore' });
    host.disconnect();
    assert.deepEqual(await once(host, 'exit'), [0, null]);
  });
});
