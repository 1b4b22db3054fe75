import type { Backend } from '../../engines/engine.ts';
import type { ChunkHit } from '../../search/chunk-table.ts';

/** How is scored. */
export type Scoring = 'vector' | 'keyword' | 'hybrid';

/** The BM25 score that counts half: a fixed number, so that a score means the same for every query. */
const HALF_BM25 = 30;

/**
 * The part of the vectors in a hybrid score. The bundled model's err too often for an equal vote: with a fifth the mean nDCG@10 of
 * the development collections was highest (`docs/decisions/0011-fusion.md`). Models of a hundred times its size earn half.
 */
const VECTOR_SHARE: Record<Backend['engine'], number> = { bundled: 0.2, local: 0.5, upstream: 0.5 };

/** The score of a hit, 0 to 1. `engine` is what embeds. A score that the search did not ask for counts as 0. */
export function scoreOf({ cosine, bm25 }: ChunkHit, scoring: Scoring, engine: Backend['engine']): number {
  const near = Math.min(1, Math.max(0, cosine ?? 0));
  const matching = (bm25 ?? 0) / ((bm25 ?? 0) + HALF_BM25);
  if (scoring === 'vector') return near;
  if (scoring === 'keyword') return matching;
  const share = VECTOR_SHARE[engine];
  return share * near + (1 - share) * matching;
}
