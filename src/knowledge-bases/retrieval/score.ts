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

/** Weight of the best passage in the vector score of a hit whose passages were compared; the rest is its chunk. */
const PASSAGE_WEIGHT = 0.7;
/** Weight of that vector score: more than of the chunk's, which says less (bench/results/0027-documents.md). */
const MATCHED_HYBRID_WEIGHT = 0.4;

/** Hybrid score of a hit whose best passage has a cosine similarity to the query. The other scores are 0 to 1. */
export function passageScore({ vector, keyword }: { vector: number; keyword: number }, similarity: number): number {
  const blended = PASSAGE_WEIGHT * vectorScore(similarity) + (1 - PASSAGE_WEIGHT) * vector;
  return MATCHED_HYBRID_WEIGHT * blended + (1 - MATCHED_HYBRID_WEIGHT) * keyword;
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
