import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDeadline } from '../../../test/deadline.ts';
import { engineUnavailable } from '../../errors.ts';
import type { Replica, Replicas } from './replicas.ts';
import { isTransient, withRetries } from './retries.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';

/** Runs failing attempts at one replica; returns their number and the outcome. */
function failing(signal: AbortSignal, options: { waitSeconds?: number; retrySeconds?: number; onAttempt?(): void }) {
  const { waitSeconds = null, retrySeconds = 20, onAttempt = () => {} } = options;
  const replica = { inFlight: 0 } as Replica;
  const replicas = { all: [replica], choose: () => replica } as unknown as Replicas;
  let attempts = 0;
  const once = async () => {
    attempts += 1;
    onAttempt();
    return { error: engineUnavailable('It is gone.', 1), retry: true, waitSeconds };
  };
  const end = withRetries({ replicas, timeouts: { ...DEFAULT_TIMEOUTS, retrySeconds } }, once, signal);
  return { end, attempts: () => attempts };
}

const never = new AbortController().signal;
const settled = () => new Promise(setImmediate);

describe('withRetries', () => {
  it('stops the backoff when the signal aborts, without another attempt', async () => {
    const controller = new AbortController();
    const { end, attempts } = failing(controller.signal, {});
    await settled();
    controller.abort(new Error('the caller left'));
    await withDeadline('the end of the wait', assert.rejects(end, /the caller left/), 5);
    assert.equal(attempts(), 1);
  });

  it('does not wait after an abort', async () => {
    const controller = new AbortController();
    const { end } = failing(controller.signal, { onAttempt: () => controller.abort(new Error('the caller left')) });
    await withDeadline('the end', assert.rejects(end, /the caller left/), 5);
  });

  for (const [random, factor] of [
    [0, 0.5],
    [1, 1],
  ] as const) {
    it(`waits ${factor} of the backoff at random ${random}, twice as long the second time, then gives up`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      t.mock.method(Math, 'random', () => random);
      const { end, attempts } = failing(never, { retrySeconds: 1 });
      const ended = assert.rejects(end, /It is gone/);
      for (const [retries, seconds] of [1, 2].entries()) {
        await settled();
        t.mock.timers.tick(seconds * factor * 1000 - 1);
        await settled();
        assert.equal(attempts(), retries + 1);
        t.mock.timers.tick(1);
      }
      await ended;
      assert.equal(attempts(), 3);
    });
  }

  it('honours Retry-After up to 5 seconds; a longer one ends the attempts', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const short = failing(never, { waitSeconds: 5 });
    const ended = assert.rejects(short.end, /It is gone/);
    for (const attempts of [1, 2]) {
      await settled();
      t.mock.timers.tick(4_999);
      await settled();
      assert.equal(short.attempts(), attempts);
      t.mock.timers.tick(1);
    }
    await ended;
    const long = failing(never, { waitSeconds: 5.1 });
    await assert.rejects(long.end, /It is gone/);
    assert.equal(long.attempts(), 1);
  });
});

describe('isTransient', () => {
  const cases: [status: number, isRetried: boolean, isEjected: boolean][] = [
    [429, true, false],
    [502, true, true],
    [503, true, true],
    [504, true, true],
    ...[400, 401, 404, 408, 500, 501].map((status): [number, boolean, boolean] => [status, false, false]),
  ];
  for (const [status, isRetried, isEjected] of cases) {
    it(`${status} is ${isRetried ? '' : 'not '}retried, and ${isEjected ? 'ejects' : 'does not eject'} the replica`, () => {
      const ejected: Replica[] = [];
      const replica = { inFlight: 0 } as Replica;
      const replicas = { failed: (failed: Replica) => void ejected.push(failed) } as unknown as Replicas;
      assert.equal(isTransient(status, replica, replicas), isRetried);
      assert.deepEqual(ejected, isEjected ? [replica] : []);
    });
  }
});
