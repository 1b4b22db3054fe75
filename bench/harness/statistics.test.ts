import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mean, pairedBootstrap, ranks, spearman } from './statistics.ts';

describe('statistics', () => {
  it('equal values share the mean of their ranks', () => {
    assert.deepEqual(ranks([10, 20, 20, 5]), [2, 3.5, 3.5, 1]);
    assert.deepEqual(ranks([7, 7, 7]), [2, 2, 2]);
  });

  it('Spearman is 1 for the same order, -1 for the opposite, and shares ranks between equal values', () => {
    assert.equal(spearman([1, 2, 3, 4], [10, 20, 300, 4000]), 1);
    assert.equal(spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1);
    // Ranks 1 2 3 4 and 1 2.5 2.5 4: 4.5 / sqrt(5 * 4.5)
    assert.ok(Math.abs(spearman([1, 2, 3, 4], [1, 2, 2, 9]) - 0.948683) < 1e-6);
  });

  it('the bootstrap is sure of what always holds, and not of what holds as often as not', () => {
    const zeros = new Array<number>(20).fill(0);
    assert.equal(pairedBootstrap(new Array<number>(20).fill(0.1), zeros), 0);
    assert.equal(pairedBootstrap(zeros, zeros), 1);
    const alternating = zeros.map((_, at) => (at % 2 === 0 ? 0.1 : -0.1));
    assert.ok(pairedBootstrap(alternating, zeros) > 0.8);
  });

  it('the bootstrap of two queries has the p that counting gives, the same every time', () => {
    // Of four equally likely samples of (3, -1), one has a sum below 0, and one has 3 - 1 twice: two-sided 2 * 1/4.
    const p = pairedBootstrap([3, -1], [0, 0]);
    assert.ok(Math.abs(p - 0.5) < 0.02, String(p));
    assert.equal(pairedBootstrap([3, -1], [0, 0]), p);
    assert.equal(mean([1, 2, 6]), 3);
  });
});
