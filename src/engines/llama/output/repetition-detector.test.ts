import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_PERIOD_TOKENS, MIN_REPETITION_TOKENS, RepetitionDetector } from './repetition-detector.ts';

/** Returns the number of tokens up to the detection; null: none. */
function detectAt(tokens: readonly number[]): number | null {
  const detector = new RepetitionDetector();
  const at = tokens.findIndex((token) => detector.push(token));
  return at < 0 ? null : at + 1;
}

const repeat = (period: number, length: number): number[] =>
  Array.from({ length }, (_, position) => 7 + (position % period));

describe('a repetition detector', () => {
  for (const [period, length] of [
    [1, 64],
    [3, 64],
    [16, 64],
    [17, 68],
    [64, 256],
  ] as const) {
    it(`detects the last of ${length} tokens with a period of ${period}`, () => {
      assert.equal(detectAt(repeat(period, length)), length);
      assert.equal(detectAt(repeat(period, length - 1)), null);
      assert.equal(detectAt([1, 2, 3, ...repeat(period, 2 * length)]), length + 3);
    });
  }
  it('longer periods are no repetition', () => {
    assert.equal(detectAt(repeat(MAX_PERIOD_TOKENS + 1, 1000)), null);
  });
  it('another token starts again', () => {
    const short = repeat(1, MIN_REPETITION_TOKENS - 1);
    assert.equal(detectAt([...short, 0, ...short]), null);
    assert.equal(detectAt([...short, 0, ...short, 7]), 2 * MIN_REPETITION_TOKENS);
  });
});
