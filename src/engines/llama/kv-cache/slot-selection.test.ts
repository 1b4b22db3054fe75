import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ComputedPrefix,
  chooseSeat,
  passesOf,
  SavingCredit,
  type SeatCosts,
  shouldWait,
  startOfRest,
} from './slot-selection.ts';

/** A millisecond a token, a token's state read as fast as ten are computed, a copy as fast as 20 are. */
const COSTS: SeatCosts = { prefillTokensPerSecond: 1_000, readBytesPerSecond: 1e6, passSeconds: 0.01 };
const own = (sequence: number, length: number, lost = 0): ComputedPrefix => ({
  source: { kind: 'own', sequence },
  length,
  lost,
});
const copy = (sequence: number, length: number): ComputedPrefix => ({
  source: { kind: 'copy', sequence, viaFile: false, seconds: 0.02 },
  length,
  lost: 0,
});
const load = (length: number): ComputedPrefix => ({
  source: { kind: 'load', id: 'x', bytes: length * 100 },
  length,
  lost: 0,
});
const free = (sequence: number, exclusive = 0, usedAt = 0, passes = 1) => ({ sequence, exclusive, usedAt, passes });

describe('chooseSeat', () => {
  it('without a beginning: an empty sequence, else the least recently used', () => {
    assert.deepEqual(chooseSeat([free(0, 50, 9), free(1, 0, 8)], [], COSTS), { sequence: 1, source: null, reused: 0 });
    assert.equal(chooseSeat([free(0, 50, 9), free(1, 70, 8)], [], COSTS)?.sequence, 1);
    assert.equal(chooseSeat([], [copy(0, 100)], COSTS), null);
  });
  it('goes on in place where that loses little', () => {
    const seat = chooseSeat([free(0, 100, 1), free(1, 100, 2)], [own(1, 90, 10), copy(1, 90)], COSTS);
    assert.deepEqual(seat, { sequence: 1, source: { kind: 'own', sequence: 1 }, reused: 90 });
  });
  it('copies where going on in place would lose a long conversation', () => {
    const seat = chooseSeat([free(0), free(1, 5_000, 2)], [own(1, 100, 4_900), copy(1, 100)], COSTS);
    assert.deepEqual(seat, { sequence: 0, source: copy(1, 100).source, reused: 100 });
  });
  it('copies from a running sequence, and reads from a file, where computing would take longer', () => {
    assert.equal(chooseSeat([free(0)], [copy(3, 500)], COSTS)?.source?.kind, 'copy');
    assert.equal(chooseSeat([free(0)], [load(500)], COSTS)?.source?.kind, 'load');
    assert.equal(chooseSeat([free(0)], [load(500), copy(3, 480)], COSTS)?.source?.kind, 'copy');
  });
  it('computes where that is faster than to copy or to read', () => {
    assert.equal(chooseSeat([free(0)], [copy(3, 15)], COSTS)?.source, null);
    assert.equal(chooseSeat([free(0)], [load(500)], { ...COSTS, readBytesPerSecond: 1e4 })?.source, null);
  });
  it('takes a sequence beside the running ones, unless another saves more than the passes cost', () => {
    assert.equal(chooseSeat([free(0, 0, 0, 2), free(1, 900, 9, 1)], [], COSTS)?.sequence, 1);
    const apart = [free(0, 0, 0, 2), free(1, 0, 0, 1)];
    assert.equal(chooseSeat(apart, [own(0, 500)], COSTS)?.sequence, 1);
    assert.equal(chooseSeat(apart, [own(0, 5_000)], COSTS)?.sequence, 0);
  });
  it('does not overwrite the sequence that it copies from', () => {
    const seat = chooseSeat([free(1, 500, 1)], [copy(1, 400), own(1, 400, 100)], COSTS);
    assert.deepEqual(seat?.source, { kind: 'own', sequence: 1 });
  });
});

describe('startOfRest', () => {
  it('computes a whole tile rather than most of one, where the context is long', () => {
    assert.equal(startOfRest(1_000, 1_032), 967);
    assert.equal(startOfRest(1_000, 1_064), 999);
  });
  it('leaves very short rests, longer ones and short prompts as they are', () => {
    for (const [found, prompt] of [
      [1_031, 1_032],
      [1_000, 1_016],
      [1_000, 1_065],
      [1_000, 3_000],
      [0, 40],
      [470, 500],
    ] as const) {
      assert.equal(startOfRest(found, prompt), found);
    }
  });
});

describe('passesOf', () => {
  it('is the number of runs of sequences that follow one another', () => {
    assert.deepEqual([[], [3], [2, 3, 4], [0, 2], [7, 0, 1, 6, 4]].map(passesOf), [0, 1, 1, 2, 3]);
  });
});

describe('shouldWait', () => {
  it('for a long beginning that another one computes now, and not for a few tokens', () => {
    assert.equal(shouldWait(0, 500), true);
    assert.equal(shouldWait(490, 500), false);
    assert.equal(shouldWait(500, 500), false);
  });
});

describe('SavingCredit', () => {
  it('where nothing is asked for twice, saving takes a two-hundredth of the time', () => {
    const credit = new SavingCredit();
    let spent = 0;
    for (let step = 0; step < 100_000; step++) {
      credit.computed(10);
      if (!credit.allows(50)) continue;
      credit.spent(50);
      spent += 50;
    }
    assert.ok(spent <= 1_000_000 * 0.005 + 50, `${spent} ms were spent`);
  });
  it('what reading saved may be spent again, up to a bound', () => {
    const credit = new SavingCredit();
    credit.spent(50);
    assert.equal(credit.allows(1), false);
    credit.gained(400);
    assert.equal(credit.allows(400), true);
    credit.gained(1e9);
    assert.equal(credit.allows(10_000), false);
  });
});
