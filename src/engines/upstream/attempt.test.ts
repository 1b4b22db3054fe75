import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dispatcher } from 'undici';
import { withDeadline } from '../../../test/deadline.ts';
import { ApiError } from '../../errors.ts';
import { attempt, type UpstreamRequest } from './attempt.ts';
import { parseEndpoints } from './base-url.ts';
import { HttpExchangeError } from './http-exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';

interface Setup {
  status?: number;
  retryAfter?: string;
  retrySeconds?: number;
  replicas?: number;
  signal?: AbortSignal;
  onAttempt?(): void;
  read?: UpstreamRequest<string>['read'];
  reviewRejection?: UpstreamRequest<string>['reviewRejection'];
}

/** Sends a request to replicas that all respond with a status; records attempts and reported replica states. */
function send({ status = 503, retryAfter, retrySeconds = 20, onAttempt, ...options }: Setup) {
  const attempts: string[] = [];
  const reports: string[] = [];
  const createReplica = (name: string) => {
    const dispatch = (_options: unknown, handler: Required<Dispatcher.DispatchHandler>) => {
      const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;
      attempts.push(name);
      onAttempt?.();
      handler.onResponseStart(controller, status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }, '');
      handler.onResponseData(controller, Buffer.from('"text"'));
      handler.onResponseEnd(controller, {});
    };
    return {
      endpoints: parseEndpoints(`http://${name}/v1`),
      dispatcher: { dispatch },
      inFlight: 0,
    } as unknown as Replica;
  };
  const all = Array.from({ length: options.replicas ?? 1 }, (_, at) => createReplica(`replica${at}`));
  const replicas = {
    all,
    choose: (tried: ReadonlySet<Replica>) => all.find((replica) => !tried.has(replica)) ?? all[0],
    succeeded: () => void reports.push('succeeded'),
    failed: (_replica: Replica, why: string) => void reports.push(why),
  } as unknown as Replicas;
  const timeouts = { ...DEFAULT_TIMEOUTS, retrySeconds };
  const context = { replicas, timeouts, headers: {}, apiKey: null };
  const { read = (exchange, first) => exchange.text(first, 100), reviewRejection, signal = never } = options;
  const prepare = () => ({ path: '/x', method: 'GET' as const, body: null, firstByteSeconds: 10 });
  const request = { prepare, param: 'input', read, ...(reviewRejection && { reviewRejection }) };
  return { end: attempt(context, request, signal), attempts, reports, inFlight: () => all.map((one) => one.inFlight) };
}

const never = new AbortController().signal;
const settled = () => new Promise(setImmediate);
const isUnavailable = (error: unknown) => error instanceof ApiError && error.status === 503;

describe('attempt', () => {
  it('stops the backoff when the signal aborts, without another attempt', async () => {
    const controller = new AbortController();
    const { end, attempts } = send({ signal: controller.signal });
    await settled();
    controller.abort(new Error('the caller left'));
    await withDeadline('the end of the wait', assert.rejects(end, /the caller left/), 5);
    assert.equal(attempts.length, 1);
  });

  it('does not wait after an abort', async () => {
    const controller = new AbortController();
    const { end } = send({
      signal: controller.signal,
      onAttempt: () => controller.abort(new Error('the caller left')),
    });
    await withDeadline('the end', assert.rejects(end, /the caller left/), 5);
  });

  for (const [random, factor] of [
    [0, 0.5],
    [1, 1],
  ] as const) {
    it(`waits ${factor} of the backoff at random ${random}, twice as long the second time, then gives up`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      t.mock.method(Math, 'random', () => random);
      const { end, attempts, inFlight } = send({ retrySeconds: 1 });
      const ended = assert.rejects(end, isUnavailable);
      for (const [retries, seconds] of [1, 2].entries()) {
        await settled();
        t.mock.timers.tick(seconds * factor * 1000 - 1);
        await settled();
        assert.equal(attempts.length, retries + 1);
        t.mock.timers.tick(1);
      }
      await ended;
      assert.equal(attempts.length, 3);
      assert.deepEqual(inFlight(), [0]);
    });
  }

  it('honours Retry-After up to 5 seconds; a longer one ends the attempts, also with another replica', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const short = send({ retryAfter: '5' });
    const ended = assert.rejects(short.end, isUnavailable);
    for (const attempts of [1, 2]) {
      await settled();
      t.mock.timers.tick(4_999);
      await settled();
      assert.equal(short.attempts.length, attempts);
      t.mock.timers.tick(1);
    }
    await ended;
    const long = send({ retryAfter: '5.1', replicas: 2 });
    await assert.rejects(long.end, isUnavailable);
    assert.equal(long.attempts.length, 1);
  });

  it('tries each replica without a wait before it waits', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const controller = new AbortController();
    const { end, attempts } = send({ replicas: 2, retryAfter: '5', signal: controller.signal });
    await settled();
    assert.deepEqual(attempts, ['replica0', 'replica1']);
    controller.abort(new Error('the caller left'));
    await assert.rejects(end, /the caller left/);
  });

  const statuses: [status: number, isRetried: boolean, isEjected: boolean][] = [
    [429, true, false],
    [502, true, true],
    [503, true, true],
    [504, true, true],
    ...[301, 400, 401, 404, 408, 500, 501].map((status): [number, boolean, boolean] => [status, false, false]),
  ];
  for (const [status, isRetried, isEjected] of statuses) {
    it(`${status} is ${isRetried ? '' : 'not '}retried, and ${isEjected ? 'ejects' : 'does not eject'} the replica`, async () => {
      const { end, attempts, reports } = send({ status, retryAfter: '0' });
      await assert.rejects(end, ApiError);
      assert.equal(attempts.length, isRetried ? 3 : 1);
      assert.deepEqual(reports, isEjected ? Array(3).fill(`status ${status}`) : []);
    });
  }

  it('reports a replica as healthy once its response has been read', async () => {
    const good = send({ status: 200 });
    assert.equal(await good.end, '"text"');
    assert.deepEqual(good.reports, ['succeeded']);
  });

  it('ejects a replica for errors of the transport only, not for a response that cannot be read', async () => {
    const fail = (error: Error) => send({ status: 200, read: () => Promise.reject(error) });
    const broken = fail(new HttpExchangeError('idle-timeout', 'nothing came'));
    await assert.rejects(broken.end, isUnavailable);
    assert.deepEqual(broken.reports, ['nothing came']);
    const unreadable = fail(new TypeError('odd'));
    await assert.rejects(unreadable.end, isUnavailable);
    assert.deepEqual([unreadable.reports, unreadable.attempts.length], [[], 1]);
  });

  it('lets the request decide what an error response means', async () => {
    const error = new RangeError('of another kind');
    const changed = send({
      status: 400,
      reviewRejection: ({ status }, failed) => {
        assert.equal(status, 400);
        assert.ok(failed.error instanceof ApiError);
        return changed.attempts.length === 1 ? { ...failed, isPassing: true, waitMs: 0 } : { ...failed, error };
      },
    });
    await assert.rejects(changed.end, error);
    assert.equal(changed.attempts.length, 2);
  });
});
