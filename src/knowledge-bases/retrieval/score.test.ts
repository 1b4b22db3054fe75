import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rerankedScore, scoreHit } from './score.ts';

const hit = (cosine: number | null, bm25: number | null) => ({ id: 'chunk', cosine, bm25 });

describe('scoreHit', () => {
  it('is the cosine for vectors, never below 0', () => {
    assert.equal(scoreHit(hit(0.7, null), 'vector', 0.2), 0.7);
    assert.equal(scoreHit(hit(-0.2, null), 'vector', 0.2), 0);
  });

  it('is a half where BM25 is 30, and below 1 however high it is', () => {
    assert.equal(scoreHit(hit(null, 30), 'keyword', 0.2), 0.5);
    assert.equal(scoreHit(hit(null, 0), 'keyword', 0.2), 0);
    assert.ok(scoreHit(hit(null, 1e9), 'keyword', 0.2) < 1);
  });

  it('adds both in hybrid search, by the weight that the embedding engine declares', () => {
    assert.ok(Math.abs(scoreHit(hit(1, 30), 'hybrid', 0.2) - 0.6) < 1e-12);
    assert.ok(Math.abs(scoreHit(hit(1, 30), 'hybrid', 0.5) - 0.75) < 1e-12);
  });

  it('stays within 0 and 1 for what rounding gives', () => {
    assert.equal(scoreHit(hit(1.0000001, null), 'vector', 0.5), 1);
  });
});

describe('rerankedScore', () => {
  it('mixes both scores by the weight that the reranker declares', () => {
    assert.equal(rerankedScore(0.9, 0.1, 0), 0.9);
    assert.equal(rerankedScore(0.9, 0.1, 0.5), 0.5);
  });
});
