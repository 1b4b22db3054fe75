import type { Call } from '../../lib/caller.ts';
import { settleAll } from '../../lib/settle-all.ts';
import { type Retrieval, type RetrievalDeps, retrieve, type ScoredChunk } from '../retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../store.ts';

/** A hit with its knowledge base. */
export type ContextChunk = ScoredChunk & {
  knowledgeBaseId: string;
  /** The document's text between the offsets. `text` is the part that the model reads. */
  storedText: string;
};

/** Whether a chunk has all of its text, so that offsets in it are offsets in the document. */
export function isVerbatim({ text, storedText }: Pick<ContextChunk, 'text' | 'storedText'>): boolean {
  return text === storedText;
}

/** Search for the context of a chat: hits per knowledge base, and a score below which they share hardly a word. */
export const CONTEXT_SEARCH = {
  top_k: 10,
  search_type: 'hybrid',
  min_score: 0.05,
  rerank: false,
  matchPassages: true,
} as const;
/** Search for an engine that selects from the hits: a section without a word of the question may answer it. */
export const SELECTIVE_SEARCH = { ...CONTEXT_SEARCH, min_score: 0 } as const;

/**
 * Searches the knowledge bases concurrently. Returns the best chunks of each, best first, without duplicate texts and
 * invisible characters.
 */
export async function gatherContext(
  deps: RetrievalDeps,
  call: Call,
  bases: readonly KnowledgeBaseRow[],
  params: Retrieval & { signal: AbortSignal },
): Promise<ContextChunk[]> {
  const results = await settleAll(
    bases.map(async (base) => {
      const chunks = await retrieve(deps, call, base, params);
      return chunks.map((chunk) => ({ ...chunk, knowledgeBaseId: base.id, storedText: chunk.text }));
    }),
  );
  const best = results.flat().sort((a, b) => b.score - a.score);
  return deduplicate(best.map((chunk) => ({ ...chunk, text: removeInvisible(chunk.text) })));
}

/** Removes duplicate texts: one document may be in several knowledge bases. */
function deduplicate(chunks: readonly ContextChunk[]): ContextChunk[] {
  const seen = new Set<string>();
  return chunks.filter(({ text }) => {
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** Characters that readers do not see and models read: direction marks, zero-width characters, tags. */
const INVISIBLE = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Removes invisible characters. Joiners stay, because scripts and emoji need them. */
export function removeInvisible(text: string): string {
  return text.replace(INVISIBLE, '');
}
