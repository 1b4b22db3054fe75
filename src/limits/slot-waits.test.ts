import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SlotWaits } from './slot-waits.ts';

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

/** Runs requests of a duration, one after the other. Returns the time of the end. */
function runAll(waits: SlotWaits, durationMs: number, count = 1, start = 0): number {
  let now = start;
  for (let run = 0; run < count; run += 1) {
    const request = { startedAt: now };
    waits.started(request);
    now += durationMs;
    waits.ended(request, now);
  }
  return now;
}

interface Burst {
  durationMs(): number;
  limit: number;
  clients: number;
}

/** One burst of clients. Returns how many retries found a slot, of how many. */
function runBurst(waits: SlotWaits, { durationMs, limit, clients }: Burst, start: number) {
  const counts = { found: 0, retries: 0 };
  const attempts = Array.from({ length: clients }, (_, index) => ({ at: start + index, isRetry: false }));
  let running: { startedAt: number; endsAt: number }[] = [];
  const endUntil = (now: number) => {
    const isOver = ({ endsAt }: { endsAt: number }) => endsAt <= now;
    for (const request of running.filter(isOver)) waits.ended(request, request.endsAt);
    running = running.filter((request) => !isOver(request));
  };
  for (;;) {
    const attempt = attempts.toSorted((a, b) => a.at - b.at)[0];
    if (attempt === undefined) break;
    endUntil(attempt.at);
    const isFree = running.length < limit;
    if (attempt.isRetry) counts.retries += 1;
    if (attempt.isRetry && isFree) counts.found += 1;
    if (isFree) {
      attempts.splice(attempts.indexOf(attempt), 1);
      const request = { startedAt: attempt.at, endsAt: attempt.at + durationMs() };
      waits.started(request);
      running.push(request);
    } else {
      attempt.isRetry = true;
      attempt.at += waits.promise(attempt.at);
    }
  }
  endUntil(Number.POSITIVE_INFINITY);
  return counts;
}

describe('the wait for a slot', () => {
  for (const [duration, limit, clients] of [
    [300, 1, 4],
    [300, 8, 24],
    [3_000, 4, 6],
    [3_000, 8, 24],
    [14_000, 1, 4],
    [15_000, 32, 40],
  ] as const) {
    it(`lets each of ${clients} clients on ${limit} slots find one at its first retry after requests of ${duration} ms`, () => {
      const waits = new SlotWaits();
      // The first burst teaches the duration.
      const burst = { durationMs: () => duration, limit, clients };
      runBurst(waits, burst, 0);
      const { found, retries } = runBurst(waits, burst, 1_000_000);
      assert.deepEqual([found, retries], [retries, clients - limit]);
    });
  }

  it('lets four of five retries succeed when durations vary from half to double, exponentially or log-normally', () => {
    const random = randomNumbers(1);
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const durations: Record<string, () => number> = {
      uniform: () => 3_000 * 2 ** (2 * random() - 1),
      exponential: () => -3_000 * Math.log(1 - random()),
      'log-normal': () => 3_000 * Math.exp(0.8 * normal()),
    };
    for (const [name, durationMs] of Object.entries(durations)) {
      const waits = new SlotWaits();
      const counts = { found: 0, retries: 0 };
      for (let burst = 0; burst < 12; burst += 1) {
        const { found, retries } = runBurst(waits, { durationMs, limit: 4, clients: 10 }, burst * 1_000_000);
        if (burst > 0) Object.assign(counts, { found: counts.found + found, retries: counts.retries + retries });
      }
      assert.ok(counts.found >= 0.8 * counts.retries, `${name}: ${counts.found} of ${counts.retries}`);
    }
  });

  it('is the remainder of the typical duration, in whole seconds, and at least one second', () => {
    for (const [age, wait] of [
      [500, 8_000],
      [1_000, 7_000],
      [7_950, 1_000],
    ] as const) {
      const waits = new SlotWaits();
      const now = runAll(waits, 8_000, 40);
      waits.started({ startedAt: now });
      assert.equal(waits.promise(now + age), wait);
    }
  });

  it('of a request that takes longer than others doubles with its age, up to 59 seconds', () => {
    const waits = new SlotWaits();
    const now = runAll(waits, 2_000, 40);
    waits.started({ startedAt: now });
    assert.equal(waits.promise(now + 30_000), 30_000);
    assert.equal(waits.promise(now + 600_000), 59_000);
  });

  it('follows a change of the durations within 32 requests', () => {
    const waits = new SlotWaits();
    const now = runAll(waits, 2_000, 32, runAll(waits, 40_000, 40));
    waits.started({ startedAt: now });
    assert.equal(waits.promise(now), 2_000);
  });

  it('ignores the longest tenth of the durations', () => {
    const waits = new SlotWaits();
    const now = runAll(waits, 2_000, 29, runAll(waits, 40_000, 3));
    waits.started({ startedAt: now });
    assert.equal(waits.promise(now), 2_000);
  });

  it('is a second without running or earlier requests, and turns end with their time', () => {
    const waits = new SlotWaits();
    assert.equal(waits.promise(0), 1_000);
    waits.started({ startedAt: 0 });
    assert.equal(waits.promise(1), 2_000, 'the second turn');
    assert.equal(waits.promise(2_500), 3_000, 'both turns are over');
  });
});
