import type { Backend } from '../../engines/engine.ts';
import type { ChunkHit } from '../../search/chunk-table.ts';

/** How is scored. */
export type Scoring = 'vector' | 'keyword' | 'hybrid';

/** The BM25 score that counts half: a fixed number, so that a score means the same for every query. */
const HALF_BM25 = 30;

/**
 * The part of the vectors in a hybrid score. The bundled model's err too often for an equal vote: with a fifth the mean nDCG@10 of
 * the development collections was highest (`docs/decisions/0012-search.md`). Models of a hundred times its size earn half.
 */
const VECTOR_SHARE: Record<Backend['engine'], number> = { bundled: 0.2, local: 0.5, upstream: 0.5 };

/** The score of a hit, 0 to 1. `engine` is what embeds. A score that the search did not ask for counts as 0. */
export function scoreOf(
  { cosine, bm25 }: Pick<ChunkHit, 'cosine' | 'bm25'>,
  scoring: Scoring,
  engine: Backend['engine'],
): number {
  const near = Math.min(1, Math.max(0, cosine ?? 0));
  const matching = (bm25 ?? 0) / ((bm25 ?? 0) + HALF_BM25);
  if (scoring === 'vector') return near;
  if (scoring === 'keyword') return matching;
  const share = VECTOR_SHARE[engine];
  return share * near + (1 - share) * matching;
}

/**
 * The part of the search's own score that stays beside the bundled reranker's. Alone that one hurts where the words of the whole
 * collection decide, since it judges each document by itself; half and half was best (`docs/decisions/0012-search.md`).
 */
const KEPT_BESIDE_BUNDLED = 0.5;

/** The score of a chunk that was reranked, 0 to 1: the reranker's own, but mixed with the search's for the bundled one. */
export function rerankedScore(judged: number, searched: number, engine: Backend['engine']): number {
  const kept = engine === 'bundled' ? KEPT_BESIDE_BUNDLED : 0;
  return kept * searched + (1 - kept) * judged;
}
