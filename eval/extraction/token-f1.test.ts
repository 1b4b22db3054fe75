import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tokenF1, wordsOf } from './token-f1.ts';

describe('the F1 of words', () => {
  it('counts each word as often as it comes', () => {
    assert.equal(tokenF1(wordsOf('A b, b!'), wordsOf('b a B')), 1);
    assert.equal(tokenF1(wordsOf('a b c d'), wordsOf('a a b')), 4 / 7);
    assert.equal(tokenF1(wordsOf('a'), wordsOf('')), 0);
  });
});
