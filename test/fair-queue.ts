import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../src/errors.ts';

/** Guard: a request that is never evicted fails the test instead of hanging it. */
const EVICTION_GUARD_MS = 60_000;

/** Queue size under test. Two organizations fill it, because one may use three quarters. */
export const FAIR_QUEUE_REQUESTS = 4;

/**
 * Fills a queue of `FAIR_QUEUE_REQUESTS` with requests that do not end, and checks evictions: the newest request of the
 * organization with the most requests. After all have been aborted, the queue accepts as many again.
 */
export async function checkFairQueue(request: (scope: string, signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const left = new Error('left');
  const start = (scope: string) => {
    const controller = new AbortController();
    const state = { failed: null as unknown, ended: Promise.resolve() as Promise<unknown> };
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(EVICTION_GUARD_MS)]);
    state.ended = request(scope, signal).catch((error: unknown) => {
      state.failed = error;
    });
    return { state, leave: () => controller.abort(left) };
  };
  for (let round = 0; round < 3; round++) {
    const large = [start('large'), start('large'), start('large')];
    const beyond = start('large');
    const small = start('small');
    await Promise.all([beyond.state.ended, turn()]);
    assertBusy(beyond.state.failed);
    const other = start('other');
    await large[2]?.state.ended;
    assertBusy(large[2]?.state.failed);
    const remaining = [large[0], large[1], small, other];
    assert.deepEqual(
      remaining.map((one) => one?.state.failed),
      [null, null, null, null],
    );
    for (const one of remaining) one?.leave();
    await Promise.all(remaining.map((one) => one?.state.ended));
    for (const one of remaining) assert.equal(one?.state.failed, left);
  }
}

/** Requests of one organization in `checkFairTurns`, and how many of them may end before that of another one. */
const FLOOD_REQUESTS = 64;
const MAX_SERVED_BEFORE = 12;

/**
 * Floods an engine with requests of one organization, and checks that one of another organization ends after few of
 * them. `request` sends one that takes some milliseconds.
 */
export async function checkFairTurns(request: (scope: string) => Promise<unknown>): Promise<void> {
  const served: string[] = [];
  const send = (scope: string) => request(scope).then(() => served.push(scope));
  const flood = Array.from({ length: FLOOD_REQUESTS }, () => send('large'));
  await send('small');
  const before = served.indexOf('small');
  assert.ok(before <= MAX_SERVED_BEFORE, `${before} of ${FLOOD_REQUESTS} requests were served before`);
  await Promise.all(flood);
}

function assertBusy(error: unknown): void {
  assert.ok(error instanceof ApiError, String(error));
  assert.deepEqual([error.status, error.code, (error.retryAfterSeconds ?? 0) >= 1], [503, 'engine_unavailable', true]);
  assert.match(error.message, /of your organization/);
}
