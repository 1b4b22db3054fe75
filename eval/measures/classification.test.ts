import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { areaUnderPrecisionRecall, areaUnderRoc, atThreshold, type ScoredText } from './classification.ts';

const scoredTexts = (...pairs: [score: number, positive: 0 | 1][]): ScoredText[] =>
  pairs.map(([score, positive]) => ({ score, isPositive: positive === 1 }));

describe('measures of scores against labels', () => {
  const mixed = scoredTexts([0.9, 1], [0.8, 0], [0.7, 1], [0.6, 1], [0.1, 0]);

  it('AUPRC sums precision times the gain of recall', () => {
    // 1/3 * (1/1 + 2/3 + 3/4)
    assert.ok(Math.abs(areaUnderPrecisionRecall(mixed) - 29 / 36) < 1e-12);
    assert.equal(areaUnderPrecisionRecall(scoredTexts([0.9, 1], [0.1, 0])), 1);
  });

  it('AUPRC of equal scores is the share of positives, whatever their order', () => {
    assert.equal(areaUnderPrecisionRecall(scoredTexts([0.5, 1], [0.5, 0], [0.5, 0], [0.5, 0])), 0.25);
    assert.equal(areaUnderPrecisionRecall(scoredTexts([0.5, 0], [0.5, 0], [0.5, 0], [0.5, 1])), 0.25);
  });

  it('AUROC is how often a positive is above another text, equal scores counting half', () => {
    // Of six pairs, (0.7, 0.8) and (0.6, 0.8) are wrong.
    assert.ok(Math.abs(areaUnderRoc(mixed) - 4 / 6) < 1e-12);
    assert.equal(areaUnderRoc(scoredTexts([0.5, 1], [0.5, 0])), 0.5);
    assert.equal(areaUnderRoc(scoredTexts([0.2, 1], [0.5, 0])), 0);
  });

  it('a threshold flags the scores that reach it', () => {
    assert.deepEqual(atThreshold(mixed, 0.7), { precision: 2 / 3, recall: 2 / 3, falseAlarms: 1 / 2 });
    assert.deepEqual(atThreshold(mixed, 0.95), { precision: Number.NaN, recall: 0, falseAlarms: 0 });
  });
});
