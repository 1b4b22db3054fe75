import type { ChunkHit } from '../../search/chunk-table.ts';

/** How hits are scored. */
export type Scoring = 'vector' | 'keyword' | 'hybrid';

/** BM25 score that maps to 0.5. Constant, so that a score means the same for every query. */
const HALF_BM25 = 30;

/**
 * Score of a hit, 0 to 1. `hybridWeight`: weight of the cosine similarity in hybrid scores, which the embedding engine
 * declares. A score that the search has not computed counts as 0.
 */
export function scoreOf(
  { cosine, bm25 }: Pick<ChunkHit, 'cosine' | 'bm25'>,
  scoring: Scoring,
  hybridWeight: number,
): number {
  const near = Math.min(1, Math.max(0, cosine ?? 0));
  const matching = (bm25 ?? 0) / ((bm25 ?? 0) + HALF_BM25);
  if (scoring === 'vector') return near;
  if (scoring === 'keyword') return matching;
  return hybridWeight * near + (1 - hybridWeight) * matching;
}

/** Score of a reranked chunk, 0 to 1. `searchWeight`: weight of the search score, which the reranker declares. */
export function rerankedScore(rerankScore: number, searchScore: number, searchWeight: number): number {
  return searchWeight * searchScore + (1 - searchWeight) * rerankScore;
}
