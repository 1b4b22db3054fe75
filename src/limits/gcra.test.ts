import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bucketState, fullAfter, WINDOW_MS, waitMs } from './gcra.ts';

/** Repeatable random numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One random interleaving of takes, returns and waits on one bucket: what was taken, and when. */
function simulate(seed: number): { limit: number; taken: { at: number; cost: number }[] } {
  const random = randomNumbers(seed);
  const limit = Math.ceil(10 ** (random() * 7));
  const maxCost = Math.max(1, Math.ceil(limit * random()));
  // A clock as `performance.now()` has it after up to 100 days.
  let now = random() * 8.64e9;
  let fullAt = 0;
  const taken: { at: number; cost: number }[] = [];
  for (let step = 0; step < 300; step++) {
    const cost = 1 + Math.floor(random() * maxCost);
    const wait = waitMs(fullAt, { limit, cost }, now);
    const before = bucketState(fullAt, limit, now);
    assert.equal(wait === 0, cost <= before.remaining, `seed ${seed}: the headers and the decision disagree`);
    if (wait === 0) {
      fullAt = fullAfter(fullAt, { limit, cost }, now);
      taken.push({ at: now, cost });
      assert.equal(bucketState(fullAt, limit, now).remaining, before.remaining - cost, `seed ${seed}`);
    } else if (Number.isFinite(wait)) {
      assert.notEqual(waitMs(fullAt, { limit, cost }, now + wait - 1), 0, `seed ${seed}: waited too long`);
      assert.equal(waitMs(fullAt, { limit, cost }, now + wait), 0, `seed ${seed}: waited too short`);
    }
    assert.equal(bucketState(fullAt, limit, fullAt).remaining, limit, `seed ${seed}: not full at its reset`);
    const pauses = [0, 0, Math.floor(random() * 100), wait === Number.POSITIVE_INFINITY ? 1 : wait];
    now += pauses[Math.floor(random() * pauses.length)] ?? 0;
  }
  return { limit, taken };
}

describe('GCRA', () => {
  it('never gives more than burst and refill in any window, waits exactly, and agrees with its headers', () => {
    for (let seed = 1; seed <= 150; seed++) {
      const { limit, taken } = simulate(seed);
      for (let first = 0; first < taken.length; first++) {
        let sum = 0;
        for (const { at, cost } of taken.slice(first)) {
          const elapsed = at - (taken[first]?.at ?? 0);
          sum += cost;
          // Half a unit is beyond rounding errors.
          assert.ok(sum <= limit + (elapsed * limit) / WINDOW_MS + 0.5, `seed ${seed}: ${sum} units in ${elapsed} ms`);
        }
      }
    }
  });

  it('never lets a cost above the limit pass, and always one of 0', () => {
    assert.equal(waitMs(0, { limit: 5, cost: 6 }, 1e9), Number.POSITIVE_INFINITY);
    assert.equal(waitMs(1e9, { limit: 5, cost: 0 }, 0), 0);
  });
});
