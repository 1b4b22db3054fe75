import type { Call } from '../../lib/caller.ts';
import { settleAll } from '../../lib/settle-all.ts';
import { type RetrievalDeps, retrieve, type ScoredChunk } from '../retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../store.ts';

/** A chunk with the knowledge base that it is of. */
export type ContextChunk = ScoredChunk & { knowledgeBaseId: string };

/** Chunks of each knowledge base that are looked at for one answer. */
const CHUNKS_PER_BASE = 10;
/** A chunk that scores less has hardly a word of the question. */
const MIN_SCORE = 0.05;

/**
 * The best chunks of all knowledge bases for the query, the best first, each text once and without invisible characters. The bases are
 * searched side by side.
 */
export async function gatherContext(
  deps: RetrievalDeps,
  call: Call,
  bases: readonly KnowledgeBaseRow[],
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<ContextChunk[]> {
  const wanted = { query, top_k: CHUNKS_PER_BASE, search_type: 'hybrid', min_score: MIN_SCORE, rerank: false } as const;
  const found = await settleAll(
    bases.map(async (base) => {
      const chunks = await retrieve(deps, call, base, { ...wanted, signal });
      return chunks.map((chunk) => ({ ...chunk, knowledgeBaseId: base.id }));
    }),
  );
  const best = found.flat().sort((a, b) => b.score - a.score);
  return distinct(best.map((chunk) => ({ ...chunk, text: visible(chunk.text) })));
}

/** Each text once, as its best chunk has it: the same document may be in several bases. */
function distinct(chunks: readonly ContextChunk[]): ContextChunk[] {
  const seen = new Set<string>();
  return chunks.filter(({ text }) => {
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** Characters that no reader of a document sees and a model would read: marks of direction, of no width, and tags. */
const INVISIBLE = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** The text without what is hidden in it. Joiners stay: scripts and emoji are written with them. */
function visible(text: string): string {
  return text.replace(INVISIBLE, '');
}
