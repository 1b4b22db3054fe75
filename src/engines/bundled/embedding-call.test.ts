import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EmbeddingCall } from './embedding-call.ts';

const embedding = (texts: readonly string[], withVectors = true) =>
  new EmbeddingCall({ texts, limit: 10, withVectors, createLimitError: (index) => new RangeError(`text ${index}`) });

describe('EmbeddingCall', () => {
  it('has a portion for each text, and shrinks with them', () => {
    const call = embedding(['abc', ''], false);
    assert.deepEqual([call.characters, call.share, call.nextCost], [3, 2 / 65_536, 131]);
    assert.deepEqual(call.portion(), { text: 'abc', limit: 10, withVector: false });
    assert.deepEqual([call.characters, call.share, call.nextCost], [0, 1 / 65_536, 128]);
    call.portion();
    assert.deepEqual([call.share, call.nextCost], [0, null]);
  });

  it('returns tokens and vectors in the order of the texts', () => {
    const call = embedding(['a', 'b']);
    const [first, second] = [Float32Array.of(1), Float32Array.of(2)];
    assert.equal(call.take({ vector: first, tokens: 10 }), null);
    assert.deepEqual(call.take({ vector: second, tokens: 3 }), {
      tokens: [10, 3],
      vectors: [first, second],
      similarities: [],
    });
  });

  it('throws with the index of the first text over the limit', () => {
    const call = embedding(['a', 'b', 'c']);
    call.take({ vector: Float32Array.of(1), tokens: 3 });
    assert.throws(() => call.take({ vector: null, tokens: 11 }), /text 1/);
  });
});
