import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { best, ndcg, recall, reciprocalRank } from './ranking.ts';

describe('measures of a ranking', () => {
  it('the best places come first, of equal scores the earlier one', () => {
    assert.deepEqual(best([0.1, 0.5, 0.5, 0.9], 3), [3, 1, 2]);
    assert.deepEqual(best(Float32Array.of(2, 3), 10), [1, 0]);
    assert.deepEqual(best([0, -1, 0], 3), [0, 2, 1]);
  });

  it('nDCG@10 counts grades with the discount of their rank, against the best that could be', () => {
    const gains = new Map([
      [7, 2],
      [8, 1],
    ]);
    assert.equal(ndcg([7, 8], gains), 1);
    // (1 + 2 / log2 3) / (2 + 1 / log2 3) = 2.26186 / 2.63093
    assert.ok(Math.abs(ndcg([8, 7], gains) - 0.859719) < 1e-6);
    // Found third: (2 / 2) / 2.63093
    assert.ok(Math.abs(ndcg([1, 2, 7], gains) - 0.380093) < 1e-6);
    assert.equal(ndcg([0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 7, 8], gains), 0);
  });

  it('nDCG@10 is 1 when ten of more relevant documents are found', () => {
    const gains = new Map(Array.from({ length: 15 }, (_, place) => [place, 1]));
    assert.ok(Math.abs(ndcg([14, 13, 12, 11, 10, 9, 8, 7, 6, 5], gains) - 1) < 1e-12);
  });

  it('Recall@100 is the share of the relevant documents among the first hundred', () => {
    const gains = new Map([
      [5, 1],
      [99, 3],
      [100, 1],
      [500, 1],
    ]);
    const ranking = Array.from({ length: 200 }, (_, place) => place);
    assert.equal(recall(ranking, gains), 0.5);
  });

  it('the reciprocal rank is of the first relevant document, 0 without one', () => {
    const gains = new Map([[3, 1]]);
    assert.equal(reciprocalRank([9, 8, 7, 3], gains), 0.25);
    assert.equal(reciprocalRank([9], gains), 0);
  });
});
