import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { until, withDeadline } from '../../test/deadline.ts';
import { connectPeers, type Peers } from '../../test/remote-engine.ts';
import { ApiError, invalidValue } from '../errors.ts';
import { OperatorError } from './operator-error.ts';
import type { RpcMethods } from './rpc-peer.ts';

const never = new AbortController().signal;

async function connected(t: TestContext, methods: Partial<RpcMethods>, client?: RpcMethods): Promise<Peers> {
  const peers = await connectPeers(() => ({ call: async () => undefined, ...methods }), client);
  t.after(() => peers.close());
  return peers;
}

describe('a connection between two processes', () => {
  it('carries calls of both ends, values without JSON form, and large messages', async (t) => {
    const echo: RpcMethods = { call: async (_method, input) => input };
    const { client, server } = await connected(t, echo, echo);
    const values = [new Map([['ingestion', 4]]), Float32Array.of(0.1, Number.NaN), undefined, 'é\u0000😀'.repeat(2e6)];
    for (const peer of [client, server])
      for (const value of values) assert.deepEqual(await peer.call('echo', value), value);
    assert.deepEqual(await Promise.all(values.map((value) => client.call('echo', value))), values);
  });

  it('throws errors as they were thrown', async (t) => {
    const errors = [invalidValue('input.3', 'is odd'), new OperatorError('Set the port.'), new Error('no')];
    const { client } = await connected(t, {
      call: async (_method, at) => {
        throw errors[at as number];
      },
    });
    for (const [at, error] of errors.entries()) {
      const thrown = await client.call('fail', at).catch((reason: unknown) => reason);
      assert.equal((thrown as Error).constructor, error.constructor);
      assert.equal((thrown as Error).message, error.message);
    }
    const first = (await client.call('fail', 0).catch((reason: unknown) => reason)) as ApiError;
    assert.deepEqual([first.status, first.code, first.param], [400, 'invalid_value', 'input.3']);
  });

  it('an aborted call throws its reason at once, and the other end is told', async (t) => {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { client } = await connected(t, {
      call: (_method, _input, signal) => {
        begin();
        signal.addEventListener('abort', () => resolve());
        return new Promise(() => {});
      },
    });
    const controller = new AbortController();
    const reason = new Error('enough');
    const call = assert.rejects(client.call('wait', {}, { signal: controller.signal }), reason);
    await withDeadline('the call', begun);
    controller.abort(reason);
    await withDeadline('the rejection', call);
    await withDeadline('the abort', left);
  });

  it('a stream waits for a reader that is slow, and ends for one that leaves', async (t) => {
    let made = 0;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { client } = await connected(t, {
      async *stream() {
        try {
          for (;;) yield made++;
        } finally {
          resolve();
        }
      },
    });
    const stream = client.stream<number>('count', {}, { signal: never });
    assert.equal((await stream.next()).value, 0);
    // A round trip: everything that the window lets through has arrived.
    await client.call('sync', {});
    const window = made;
    assert.ok(window < 1_000, `${window} events`);
    await client.call('sync', {});
    assert.equal(made, window);
    for (let at = 1; at < 5_000; at++) assert.equal((await stream.next()).value, at);
    await client.call('sync', {});
    assert.ok(made <= 5_000 + window, `${made} events`);
    await stream.return();
    await withDeadline('the end of the stream', ended);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  });

  it('a stream ends for a reader that leaves while the event that fills its window is made', async (t) => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    let made = 0;
    const { client } = await connected(t, {
      async *stream(_method, _input, signal) {
        signal.addEventListener('abort', () => leave());
        try {
          for (;;) {
            made += 1;
            if (made === 512) await left;
            yield made;
          }
        } finally {
          resolve();
        }
      },
    });
    const stream = client.stream<number>('count', {}, { signal: never });
    await stream.next();
    await until(() => made === 512);
    await stream.return();
    await withDeadline('the end of the stream', ended);
  });

  it('a lost connection fails pending and later calls and streams with 503, and aborts those of the other end', async (t) => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { client, server } = await connected(t, {
      call: (_method, _input, signal) => {
        begin();
        signal.addEventListener('abort', () => resolve());
        return new Promise(() => {});
      },
      async *stream() {
        yield 1;
        await new Promise(() => {});
      },
    });
    const isLost = (error: unknown) =>
      error instanceof ApiError && error.status === 503 && error.retryAfterSeconds === 1;
    const call = assert.rejects(client.call('wait', {}), isLost);
    const stream = client.stream('wait', {}, { signal: never });
    await stream.next();
    await withDeadline('the call', begun);
    server.close();
    await withDeadline('the failure of the call', call);
    await assert.rejects(stream.next(), isLost);
    await withDeadline('the abort', aborted);
    await assert.rejects(client.call('again', {}), isLost);
    await assert.rejects(client.stream('again', {}, { signal: never }).next(), isLost);
  });

  it('a large message of one organization does not delay those of another', async (t) => {
    const order: string[] = [];
    const { client } = await connected(t, {
      call: async (_method, input) => {
        order.push((input as string).slice(0, 1));
      },
    });
    const large = Array.from({ length: 12 }, () => client.call('note', `a${'x'.repeat(4e6)}`, { scope: 'a' }));
    const small = client.call('note', 'b', { scope: 'b' });
    await Promise.all([...large, small]);
    assert.ok(order.indexOf('b') <= 5, order.join(''));
  });
});
