import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passageScore, rerankedScore, scoreHit } from './score.ts';

const hit = (cosine: number | null, bm25: number | null) => ({ id: 'chunk', cosine, bm25 });

describe('scoreHit', () => {
  it('is the cosine similarity for vector search, at least 0', () => {
    assert.equal(scoreHit(hit(0.7, null), 'vector', 0.2), 0.7);
    assert.equal(scoreHit(hit(-0.2, null), 'vector', 0.2), 0);
  });

  it('maps BM25 30 to 0.5, and any score below 1', () => {
    assert.equal(scoreHit(hit(null, 30), 'keyword', 0.2), 0.5);
    assert.equal(scoreHit(hit(null, 0), 'keyword', 0.2), 0);
    assert.ok(scoreHit(hit(null, 1e9), 'keyword', 0.2) < 1);
  });

  it('combines both in hybrid search by the weight of the embedding engine', () => {
    assert.ok(Math.abs(scoreHit(hit(1, 30), 'hybrid', 0.2) - 0.6) < 1e-12);
    assert.ok(Math.abs(scoreHit(hit(1, 30), 'hybrid', 0.5) - 0.75) < 1e-12);
  });

  it('stays within 0 and 1 despite rounding', () => {
    assert.equal(scoreHit(hit(1.0000001, null), 'vector', 0.5), 1);
  });
});

describe('passageScore', () => {
  it('blends the passage with the chunk, and the blend with the keywords', () => {
    assert.ok(Math.abs(passageScore({ vector: 0.2, keyword: 0.5 }, 0.6) - 0.492) < 1e-12);
  });

  it('stays within 0 and 1 for any similarity', () => {
    assert.equal(passageScore({ vector: 0, keyword: 0 }, -1), 0);
    assert.equal(passageScore({ vector: 1, keyword: 1 }, 1.0000001), 1);
  });
});

describe('rerankedScore', () => {
  it('combines both scores by the weight of the reranker', () => {
    assert.equal(rerankedScore(0.9, 0.1, 0), 0.9);
    assert.equal(rerankedScore(0.9, 0.1, 0.5), 0.5);
  });
});
