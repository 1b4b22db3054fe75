import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Dispatcher } from 'undici';
import { withTraceHeaders } from '../../lib/trace-headers.ts';
import { Exchange, HttpExchangeError } from './http-exchange.ts';

const MIB = 1024 * 1024;
const REQUEST = { origin: 'http://127.0.0.1:9', path: '/', method: 'POST', headers: {}, body: '' } as const;

/** An exchange with a simulated upstream and mocked timers. */
function setUp(t: TestContext, signal = new AbortController().signal) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const log: string[] = [];
  const controller = {
    paused: false,
    pause: () => {
      controller.paused = true;
      log.push('pause');
    },
    resume: () => {
      controller.paused = false;
      log.push('resume');
    },
    abort: (error: Error) => void log.push(`abort: ${error.message}`),
  };
  const dispatcher = { dispatch: () => void log.push('dispatch') } as unknown as Dispatcher;
  const request = { ...REQUEST, firstByteSeconds: 10, idleSeconds: 4 };
  const exchange = new Exchange(dispatcher, request, signal, () => void log.push('closed'));
  const { onResponseData, onRequestStart } = exchange;
  const asController = controller as unknown as Dispatcher.DispatchController;
  return {
    exchange,
    log,
    start: () => onRequestStart.call(exchange, asController),
    send: (bytes: number) => onResponseData.call(exchange, asController, Buffer.alloc(bytes, 'x')),
  };
}

const isFault = (kind: HttpExchangeError['kind']) => (error: unknown) =>
  error instanceof HttpExchangeError && error.kind === kind;

describe('HttpExchange', () => {
  it('sends the trace context of the request that it serves', () => {
    const sent: unknown[] = [];
    const dispatcher = { dispatch: (options: { headers: unknown }) => void sent.push(options.headers) };
    const request = { ...REQUEST, headers: { 'x-own': '1' }, firstByteSeconds: 10, idleSeconds: 4 };
    const stopping = new AbortController();
    const send = () => new Exchange(dispatcher as unknown as Dispatcher, request, stopping.signal, () => undefined);
    withTraceHeaders({ traceparent: '00-1-2-01' }, send);
    send();
    stopping.abort();
    assert.deepEqual(sent, [{ 'x-own': '1', traceparent: '00-1-2-01' }, { 'x-own': '1' }]);
  });

  it('pauses the upstream above one unread MiB, and resumes below half of it', (t) => {
    const { exchange, log, start, send } = setUp(t);
    start();
    send(MIB / 2);
    send(MIB / 2);
    assert.deepEqual(log, ['dispatch']);
    send(1);
    assert.deepEqual(log, ['dispatch', 'pause']);
    exchange.take();
    assert.deepEqual(log, ['dispatch', 'pause'], 'half and a byte are unread');
    exchange.take();
    assert.deepEqual(log, ['dispatch', 'pause', 'resume']);
  });

  it('reads a bounded text and releases the rest', async (t) => {
    const { exchange, log, start, send } = setUp(t);
    start();
    for (let piece = 0; piece < 5; piece += 1) send(10);
    assert.equal((await exchange.text(await exchange.first(), 25)).length, 25);
    assert.equal(exchange.take(), null, 'it has left');
    send(MIB * 2);
    assert.deepEqual(log, ['dispatch']);
  });

  it('closes a response that continues for a second after the release', async (t) => {
    const { exchange, log, start, send } = setUp(t);
    start();
    send(10);
    exchange.release();
    t.mock.timers.tick(999);
    assert.deepEqual(log, ['dispatch']);
    t.mock.timers.tick(1);
    assert.deepEqual(log, ['dispatch', 'closed', 'abort: the answer did not end']);
  });

  it('times out for the first byte, then for each fragment', async (t) => {
    const late = setUp(t);
    t.mock.timers.tick(9_999);
    const first = assert.rejects(late.exchange.first(), isFault('first-byte-timeout'));
    t.mock.timers.tick(1);
    await first;
    t.mock.timers.reset();
    const idle = setUp(t);
    idle.start();
    idle.send(1);
    t.mock.timers.tick(3_999);
    assert.equal(idle.exchange.take()?.length, 1);
    const next = assert.rejects(idle.exchange.read(), isFault('idle-timeout'));
    t.mock.timers.tick(1);
    await next;
  });

  it('does not time out while a slow reader pauses the upstream', (t) => {
    const { exchange, log, start, send } = setUp(t);
    start();
    send(MIB + 1);
    t.mock.timers.tick(60_000);
    assert.equal(exchange.take()?.length, MIB + 1);
    assert.deepEqual(log, ['dispatch', 'pause', 'resume']);
  });

  it('sends nothing for an aborted call', async (t) => {
    const { exchange, log } = setUp(t, AbortSignal.abort(new Error('the caller left')));
    await assert.rejects(exchange.first(), /the caller left/);
    assert.deepEqual(log, ['closed']);
  });
});
