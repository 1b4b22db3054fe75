/** Limits of WebSockets, and the stop of their server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until, withDeadline } from '../../test/deadline.ts';
import { startApi, type TestApiOptions } from '../../test/harness.ts';
import { untilAborted, words } from '../../test/scripted-engine.ts';
import { openSocket } from '../../test/web-socket-client.ts';
import { drain } from '../http/drain.ts';
import { createLogger } from '../lib/logger.ts';

const MODEL = 'general-8b';
const create = (fields: object = {}) => ({ type: 'response.create', model: MODEL, input: 'Hello', ...fields });
const ask = (input: string, fields: object = {}) => create({ input, ...fields });

/** An answer that stalls after its first word. */
const slowAnswer = () => {
  const finish = Promise.withResolvers<void>();
  const play = async function* () {
    const events = words('Hello there.');
    yield* events.slice(0, 2);
    await finish.promise;
    yield* events.slice(2);
  };
  return { finish: finish.resolve, play };
};

async function withApi(
  options: TestApiOptions,
  test: (api: Awaited<ReturnType<typeof startApi>>['api']) => Promise<void>,
) {
  const { api, close } = await startApi(options);
  try {
    await test(api);
  } finally {
    api.app.webSockets.terminate();
    await close();
  }
}

describe('limits of WebSockets', () => {
  it('every message counts as a request, and every connection as a connection', () =>
    withApi({ rateLimits: 'requests=3,concurrent=2' }, async (api) => {
      const first = await openSocket(api);
      const second = await openSocket(api);
      await assert.rejects(openSocket(api), { status: 429, code: 'rate_limit_exceeded' });
      for (let turn = 0; turn < 3; turn += 1)
        assert.equal((await first.turn(create())).at(-1).type, 'response.completed');
      const [limited] = await second.turn(create());
      assert.deepEqual([limited.status, limited.error.code], [429, 'rate_limit_exceeded']);
      assert.ok(Number(limited.headers['retry-after']) >= 1);
      assert.equal((await api.send('GET', '/v1/models')).status, 200, 'connections take nothing of other classes');
      second.socket.terminate();
      const { key } = await api.makeKey({ limits: { requestsPerMinute: 9, tokensPerMinute: 40, concurrent: 1 } });
      const tokens = await openSocket(api, { key });
      const [costly] = await tokens.turn(ask('x'.repeat(400)));
      assert.deepEqual([costly.status, costly.error.code], [429, 'rate_limit_exceeded']);
      tokens.socket.terminate();
      await until(() =>
        openSocket(api, { key }).then(
          ({ socket }) => [socket.terminate()].length === 1,
          () => false,
        ),
      );
    }));

  it('messages are as large as bodies at most, and few of them wait', () =>
    withApi({ config: { bodyLimitBytes: 2_000 } }, async (api) => {
      const client = await openSocket(api);
      const size = (bytes: number) => JSON.stringify(ask('')).length + bytes;
      assert.equal((await client.turn(ask('x'.repeat(2_000 - size(0))))).at(-1).type, 'response.completed');
      client.send(ask('x'.repeat(2_001 - size(0))));
      assert.equal((await client.closed())[0], 1009);
      const eager = await openSocket(api);
      const { finish, play } = slowAnswer();
      api.engine.play(play);
      for (let sent = 0; sent < 10; sent += 1) eager.send(create());
      await until(() => api.engine.calls.length === 2);
      finish();
      assert.deepEqual(await eager.closed(), [1008, 'more than 8 messages wait']);
      assert.equal(api.engine.calls.length, 2, 'messages that wait are dropped');
    }));

  it('an old connection ends with an error, an idle one without', async () => {
    const times = { pingMs: 20, idleMs: 60_000, maxAgeMs: 200 };
    await withApi({ timeouts: { connectionTimes: times } }, async (api) => {
      const client = await openSocket(api);
      const pinged = Promise.withResolvers<void>();
      client.socket.once('ping', () => pinged.resolve());
      await withDeadline('a ping', pinged.promise);
      const last = await client.next();
      assert.deepEqual([last.type, last.status, last.error.code], ['error', 400, 'websocket_connection_limit_reached']);
      assert.equal((await client.closed())[0], 1000);
    });
    await withApi({ timeouts: { connectionTimes: { ...times, idleMs: 100, maxAgeMs: 60_000 } } }, async (api) => {
      const client = await openSocket(api);
      assert.deepEqual(await client.closed(), [1000, 'idle']);
      const silent = await openSocket(api);
      api.engine.play(async function* (_request, signal) {
        yield* words('one').slice(0, 1);
        await untilAborted(signal);
      });
      silent.send(create());
      await until(() => api.engine.calls.length === 1);
      // A client that reads nothing answers no ping.
      silent.socket.pause();
      await until(() => api.engine.calls[0]?.ended === true);
    });
  });
});

describe('a stopping server', () => {
  it('closes idle WebSockets, and others after their response', () =>
    withApi({}, async (api) => {
      const { finish, play } = slowAnswer();
      api.engine.play(play);
      const [idle, busy] = [await openSocket(api), await openSocket(api)];
      busy.send(create());
      busy.send(ask('dropped'));
      await until(() => api.engine.calls.length === 1);
      const drained = drain(api.app, createLogger('silent'), { delayMs: 0, drainMs: 60_000, abortMs: 60_000 });
      assert.deepEqual(await idle.closed(), [1001, 'this server is stopping']);
      finish();
      while ((await busy.next()).type !== 'response.completed');
      assert.deepEqual(await busy.closed(), [1001, 'this server is stopping']);
      await drained;
      assert.equal(api.engine.calls.length, 1);
    }));

  it('aborts responses that run longer than the drain', () =>
    withApi({}, async (api) => {
      api.engine.play(async function* (_request, signal) {
        yield* words('one').slice(0, 1);
        await untilAborted(signal);
      });
      const client = await openSocket(api);
      client.send(create());
      await until(() => api.engine.calls.length === 1);
      await drain(api.app, createLogger('silent'), { delayMs: 0, drainMs: 1, abortMs: 60_000 });
      assert.equal((await client.closed())[0], 1006);
      assert.equal(api.engine.calls[0]?.ended, true);
    }));
});
