import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { until } from '../../test/deadline.ts';
import { untilAborted } from '../../test/scripted-engine.ts';
import { serviceCaller } from '../lib/caller.ts';
import { createLogger } from '../lib/logger.ts';
import type { App } from './app.ts';
import { drain } from './drain.ts';
import { disconnectSignal } from './event-stream.ts';
import { unlimited } from './rate-limit.ts';
import { createServer } from './server.ts';

const logger = createLogger('silent');
/** Guard against a hanging test. */
const LONG_MS = 120_000;
const CALLER = serviceCaller('org_1', 'key_1');

let app: App;
afterEach(() => app.close());

/** Starts a server with one route and sends it a request over its own connection. */
async function startCall(
  handler: (signal: AbortSignal, reply: FastifyReply) => Promise<unknown>,
  preHandler = async () => {},
): Promise<Socket> {
  app = await createServer({
    logger,
    bodyLimitBytes: 1_000,
    corsOrigins: null,
    requestTimeoutMs: LONG_MS,
    authenticate: () => CALLER,
    limiter: unlimited,
  });
  app.get('/call', { preHandler }, (_request, reply) => handler(disconnectSignal(reply), reply));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  socket.resume().write('GET /call HTTP/1.1\r\nhost: quire\r\n\r\n');
  return socket;
}

async function leave(socket: Socket): Promise<void> {
  socket.destroy();
  const connections = () =>
    new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));
  await until(async () => (await connections()) === 0);
}

describe('drain', () => {
  it('waits for the handler of a disconnected client', async () => {
    const engine = Promise.withResolvers<void>();
    const socket = await startCall(() => engine.promise);
    await until(() => app.inFlight.count === 1);
    await leave(socket);
    let isDrained = false;
    const drained = drain(app, logger, { delayMs: 0, drainMs: LONG_MS, abortMs: LONG_MS }).then(() => {
      isDrained = true;
    });
    await app.close();
    await new Promise(setImmediate);
    assert.deepEqual([app.inFlight.count, isDrained], [1, false]);
    engine.resolve();
    await drained;
    assert.equal(app.inFlight.count, 0);
  });

  it('keeps connections during the delay, and closes each with its next response once none is accepted', async () => {
    const kept = await startCall(async (_signal, reply) => reply.send('served'));
    const responses = (async function* () {
      for await (const chunk of kept)
        yield String(chunk)
          .match(/^connection: .*$/im)?.[0]
          .toLowerCase();
    })();
    assert.equal((await responses.next()).value, 'connection: keep-alive');
    const { port } = app.server.address() as AddressInfo;
    const call = () => fetch(`http://127.0.0.1:${port}/call`);
    const drained = drain(app, logger, { delayMs: 1_000, drainMs: LONG_MS, abortMs: LONG_MS });
    assert.equal((await call()).headers.get('connection'), 'keep-alive');
    const isRefused = async () => {
      const socket = connect(port, '127.0.0.1');
      const isAccepted = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      socket.destroy();
      return !isAccepted;
    };
    await until(isRefused);
    kept.write('GET /call HTTP/1.1\r\nhost: quire\r\n\r\n');
    assert.equal((await responses.next()).value, 'connection: close');
    assert.equal((await responses.next()).done, true);
    await drained;
  });

  it('waits for the onSend hooks of such a handler', async () => {
    const stored = Promise.withResolvers<void>();
    const engine = Promise.withResolvers<void>();
    const socket = await startCall(async () => {
      await engine.promise;
      // Simulates a hook that sends the reply.
      setImmediate(() => app.inFlight.add(stored.promise));
    });
    await until(() => app.inFlight.count === 1);
    await leave(socket);
    let isDrained = false;
    const drained = drain(app, logger, { delayMs: 0, drainMs: LONG_MS, abortMs: LONG_MS }).then(() => {
      isDrained = true;
    });
    await app.close();
    engine.resolve();
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    assert.equal(isDrained, false);
    stored.resolve();
    await drained;
  });

  it('aborts requests after the drain time and waits until they have settled', async () => {
    let isSettled = false;
    await startCall(async (signal) => {
      await untilAborted(signal).catch(() => {});
      await new Promise(setImmediate);
      isSettled = true;
    });
    await until(() => app.inFlight.count === 1);
    await drain(app, logger, { delayMs: 0, drainMs: 1, abortMs: LONG_MS });
    assert.equal(isSettled, true);
  });

  it('ends although a handler ignores its abort', async () => {
    const engine = Promise.withResolvers<void>();
    await startCall(() => engine.promise);
    await until(() => app.inFlight.count === 1);
    await drain(app, logger, { delayMs: 0, drainMs: 1, abortMs: 1 });
    assert.equal(app.inFlight.count, 1);
    engine.resolve();
  });

  it('starts no handler afterwards, even of a request that waited in a hook', async () => {
    const hook = Promise.withResolvers<void>();
    let isWaiting = false;
    let hasBegun = false;
    const socket = await startCall(
      async () => {
        hasBegun = true;
      },
      () => {
        isWaiting = true;
        return hook.promise;
      },
    );
    await until(() => isWaiting);
    await leave(socket);
    await drain(app, logger, { delayMs: 0, drainMs: LONG_MS, abortMs: LONG_MS });
    hook.resolve();
    await new Promise(setImmediate);
    assert.equal(hasBegun, false);
  });
});

describe('disconnectSignal', () => {
  it('is aborted already when the client disconnected before its handler started', async () => {
    const hook = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<AbortSignal>();
    let isWaiting = false;
    const socket = await startCall(
      async (signal) => begun.resolve(signal),
      () => {
        isWaiting = true;
        return hook.promise;
      },
    );
    await until(() => isWaiting);
    await leave(socket);
    hook.resolve();
    const signal = await begun.promise;
    assert.equal(signal.aborted && signal.reason.name, 'ClientDisconnected');
  });
});
