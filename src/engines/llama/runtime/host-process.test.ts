import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createLogger } from '../../../lib/logger.ts';
import { HostProcess } from './host-process.ts';

type Message = { name: string; text?: string };

describe('the channel of a host process', () => {
  const module = new URL('../../../../test/fixtures/echoing-host.ts', import.meta.url);
  const received: string[] = [];
  let resolveLast = () => {};
  const host = new HostProcess<{ facts: true }, { received: string }, Message>(
    { module, file: '', load: () => ({ name: 'load' }), closeMessage: null, isLazy: true },
    createLogger('silent'),
    {
      message: ({ received: name }) => {
        received.push(name);
        if (name === 'last') resolveLast();
      },
      changed: () => {},
    },
  );
  after(() => host.close());

  it('has turns for organizations beside large messages of one, and keeps the order of each', async () => {
    const text = 'x'.repeat(1_000_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    resolveLast = resolve;
    // The first message starts the process.
    const flood = Array.from({ length: 40 }, (_, i) => `a${i}`);
    for (const name of flood) host.send({ name, text }, "a'\n");
    for (const name of ['b1', 'b2']) host.send({ name }, 'b');
    host.send({ name: 'last' }, "a'\n");
    await promise;
    assert.deepEqual(
      received.filter((name) => !name.startsWith('b')),
      ['load', ...flood, 'last'],
    );
    assert.ok(received.indexOf('b1') < received.indexOf('b2'));
    assert.ok(received.indexOf('b2') < received.length / 2, `${received}`);
  });
});
