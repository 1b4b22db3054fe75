import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitWords, tokenF1 } from './token-f1.ts';

describe('tokenF1', () => {
  it('counts repeated words', () => {
    assert.equal(tokenF1(splitWords('A b, b!'), splitWords('b a B')), 1);
    assert.equal(tokenF1(splitWords('a b c d'), splitWords('a a b')), 4 / 7);
    assert.equal(tokenF1(splitWords('a'), splitWords('')), 0);
  });
});
