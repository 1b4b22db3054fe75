import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('../engine/host.ts', import.meta.url));

describe('the process of a model', () => {
  it('ends when its parent is gone before it has loaded its modules', async () => {
    const host = fork(HOST, [], { stdio: 'ignore' });
    host.disconnect();
    assert.deepEqual(await once(host, 'exit'), [0, null]);
  });
});
