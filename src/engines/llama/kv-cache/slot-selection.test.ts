import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type CachedPrefix,
  countPasses,
  prefillStart,
  type SlotCosts,
  SnapshotBudget,
  selectSlot,
  shouldWait,
} from './slot-selection.ts';

/** One millisecond per token of prefill; loading is ten times, copying 20 times as fast. */
const COSTS: SlotCosts = { prefillTokensPerSecond: 1_000, readBytesPerSecond: 1e6, passSeconds: 0.01 };
const continues = (slot: number, length: number, lostTokens = 0): CachedPrefix => ({
  source: { kind: 'continue', slot },
  length,
  lostTokens,
});
const copy = (slot: number, length: number): CachedPrefix => ({
  source: { kind: 'copy', slot, viaFile: false, seconds: 0.02 },
  length,
  lostTokens: 0,
});
const load = (length: number): CachedPrefix => ({
  source: { kind: 'load', id: 'x', bytes: length * 100 },
  length,
  lostTokens: 0,
});
const free = (slot: number, exclusiveTokens = 0, usedAt = 0, passes = 1) => ({ slot, exclusiveTokens, usedAt, passes });

describe('selectSlot', () => {
  it('without a cached prefix: an empty slot, else the least recently used', () => {
    assert.deepEqual(selectSlot([free(0, 50, 9), free(1, 0, 8)], [], COSTS), { slot: 1, source: null, reused: 0 });
    assert.equal(selectSlot([free(0, 50, 9), free(1, 70, 8)], [], COSTS)?.slot, 1);
    assert.equal(selectSlot([free(0, 50, 1), free(1, 0, 8)], [], COSTS)?.slot, 1, 'also when it was used later');
    assert.equal(selectSlot([], [copy(0, 100)], COSTS), null);
  });
  it('continues in place where that evicts little', () => {
    const acquire = selectSlot([free(0, 100, 1), free(1, 100, 2)], [continues(1, 90, 10), copy(1, 90)], COSTS);
    assert.deepEqual(acquire, { slot: 1, source: { kind: 'continue', slot: 1 }, reused: 90 });
  });
  it('copies where continuing in place would evict a long conversation', () => {
    const acquire = selectSlot([free(0), free(1, 5_000, 2)], [continues(1, 100, 4_900), copy(1, 100)], COSTS);
    assert.deepEqual(acquire, { slot: 0, source: copy(1, 100).source, reused: 100 });
  });
  it('copies from a running slot, or loads a snapshot, where prefill would take longer', () => {
    assert.equal(selectSlot([free(0)], [copy(3, 500)], COSTS)?.source?.kind, 'copy');
    assert.equal(selectSlot([free(0)], [load(500)], COSTS)?.source?.kind, 'load');
    assert.equal(selectSlot([free(0)], [load(500), copy(3, 480)], COSTS)?.source?.kind, 'copy');
  });
  it('computes where that is faster than copying or loading', () => {
    assert.equal(selectSlot([free(0)], [copy(3, 15)], COSTS)?.source, null);
    assert.equal(selectSlot([free(0)], [load(500)], { ...COSTS, readBytesPerSecond: 1e4 })?.source, null);
  });
  it('prefers slots adjacent to running ones, unless another saves more than the passes cost', () => {
    assert.equal(selectSlot([free(0, 0, 0, 2), free(1, 900, 9, 1)], [], COSTS)?.slot, 1);
    const apart = [free(0, 0, 0, 2), free(1, 0, 0, 1)];
    assert.equal(selectSlot(apart, [continues(0, 500)], COSTS)?.slot, 1);
    assert.equal(selectSlot(apart, [continues(0, 5_000)], COSTS)?.slot, 0);
  });
  it('does not overwrite the slot that it copies from', () => {
    const acquire = selectSlot([free(1, 500, 1)], [copy(1, 400), continues(1, 400, 100)], COSTS);
    assert.deepEqual(acquire?.source, { kind: 'continue', slot: 1 });
  });
});

describe('prefillStart', () => {
  it('computes a whole tile instead of most of one in long contexts', () => {
    assert.equal(prefillStart(1_000, 1_032), 967);
    assert.equal(prefillStart(1_000, 1_064), 999);
  });
  it('keeps very short suffixes, long suffixes and short prompts', () => {
    for (const [found, prompt] of [
      [1_031, 1_032],
      [1_000, 1_016],
      [1_000, 1_065],
      [1_000, 3_000],
      [0, 40],
      [470, 500],
    ] as const) {
      assert.equal(prefillStart(found, prompt), found);
    }
  });
});

describe('countPasses', () => {
  it('is the number of runs of consecutive slots', () => {
    assert.deepEqual([[], [3], [2, 3, 4], [0, 2], [7, 0, 1, 6, 4]].map(countPasses), [0, 1, 1, 2, 3]);
  });
});

describe('shouldWait', () => {
  it('for a long prefix that another job is computing, not for a few tokens', () => {
    assert.equal(shouldWait(0, 500), true);
    assert.equal(shouldWait(490, 500), false);
    assert.equal(shouldWait(500, 500), false);
  });
});

describe('SnapshotBudget', () => {
  it('without reuse, snapshots take a two-hundredth of the time', () => {
    const credit = new SnapshotBudget();
    let spend = 0;
    for (let step = 0; step < 100_000; step++) {
      credit.addComputeTime(10);
      if (!credit.allows(50)) continue;
      credit.spend(50);
      spend += 50;
    }
    assert.ok(spend <= 1_000_000 * 0.005 + 50, `${spend} ms were spent`);
  });
  it('saved time may be spent again, up to a bound', () => {
    const credit = new SnapshotBudget();
    credit.spend(50);
    assert.equal(credit.allows(1), false);
    credit.addSaved(400);
    assert.equal(credit.allows(400), true);
    credit.addSaved(1e9);
    assert.equal(credit.allows(10_000), false);
  });
});
