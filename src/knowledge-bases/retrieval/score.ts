import type { ChunkHit } from '../../search/chunk-table.ts';

/** What a score combines. */
export type Scoring = 'vector' | 'keyword' | 'hybrid';

/** BM25 score that maps to 0.5. Constant, so that a score means the same for every query. */
const HALF_BM25 = 30;

/**
 * Score of a hit, 0 to 1. `hybridWeight`: weight of the cosine similarity in hybrid scores, which the embedding engine
 * declares. A missing score counts as 0.
 */
export function scoreHit(
  { cosine, bm25 }: Pick<ChunkHit, 'cosine' | 'bm25'>,
  scoring: Scoring,
  hybridWeight: number,
): number {
  const similarity = vectorScore(cosine ?? 0);
  const keyword = keywordScore(bm25 ?? 0);
  if (scoring === 'vector') return similarity;
  if (scoring === 'keyword') return keyword;
  return hybridWeight * similarity + (1 - hybridWeight) * keyword;
}

/** Maps a cosine similarity to 0 to 1. */
export function vectorScore(cosine: number): number {
  return Math.min(1, Math.max(0, cosine));
}

/** Maps a BM25 score to 0 to 1. */
export function keywordScore(bm25: number): number {
  return bm25 / (bm25 + HALF_BM25);
}

/** Score of a reranked chunk, 0 to 1. `searchWeight`: weight of the search score, which the reranker declares. */
export function rerankedScore(rerankScore: number, searchScore: number, searchWeight: number): number {
  return searchWeight * searchScore + (1 - searchWeight) * rerankScore;
}
