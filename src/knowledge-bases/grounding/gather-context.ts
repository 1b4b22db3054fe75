import type { Call } from '../../lib/caller.ts';
import { type RetrievalDeps, retrieve, type ScoredChunk } from '../retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../store.ts';

/** A chunk with the knowledge base that it is of. */
export type ContextChunk = ScoredChunk & { knowledgeBaseId: string };

/** Chunks of each knowledge base that are looked at for one answer. */
const CHUNKS_PER_BASE = 10;
/** A chunk that scores less has hardly a word of the question. */
const MIN_SCORE = 0.05;

/** The best chunks of all knowledge bases for the query, the best first. The bases are searched side by side. */
export async function gatherContext(
  deps: RetrievalDeps,
  call: Call,
  bases: readonly KnowledgeBaseRow[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<ContextChunk[]> {
  const wanted = { query, top_k: CHUNKS_PER_BASE, search_type: 'hybrid', min_score: MIN_SCORE, rerank: false } as const;
  const found = await Promise.all(
    bases.map(async (base) => {
      const chunks = await retrieve(deps, call, base, { ...wanted, signal });
      return chunks.map((chunk) => ({ ...chunk, knowledgeBaseId: base.id }));
    }),
  );
  return found.flat().sort((a, b) => b.score - a.score);
}

/** The first of the chunks, as many as fit into so many tokens; at least the best one. */
export function withinBudget(chunks: readonly ContextChunk[], maxTokens: number): ContextChunk[] {
  let left = maxTokens;
  return chunks.filter(({ tokens }, i) => {
    left -= tokens;
    return i === 0 || left >= 0;
  });
}
