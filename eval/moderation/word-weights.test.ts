import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readWordWeights } from './word-weights.ts';

describe('the word weights that moderation is compared with', () => {
  const data = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  after(() => rmSync(data, { recursive: true }));

  it('are not there where the data folder lacks them', () => {
    assert.equal(readWordWeights(data), null);
  });

  it('score a text by its normalised words, the mean of the classifiers', () => {
    const folder = join(data, 'teachers/alt-profanity-check');
    mkdirSync(folder, { recursive: true });
    const classifier = { weights: [5, 0], intercept: -1, calibration_a: -1, calibration_b: 0 };
    const model = {
      vocabulary: ['foul', 'nice'],
      idf: [3, 4],
      classifiers: [classifier, { ...classifier, weights: [0, 0], intercept: 0 }],
    };
    writeFileSync(join(folder, 'model.json.gz'), gzipSync(JSON.stringify(model)));
    const score = readWordWeights(data);
    assert.ok(score !== null);
    const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
    // Counts times idf are 3 and 4, so the first word's share of the length is 3/5: 5 * 3/5 - 1 = 2.
    assert.ok(Math.abs(score('FOUL, nice! a') - (logistic(2) + 0.5) / 2) < 1e-12);
    assert.ok(Math.abs(score('') - (logistic(-1) + 0.5) / 2) < 1e-12);
  });
});
