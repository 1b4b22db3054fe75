import type { PromptDocument } from '../../engines/engine.ts';
import { type ContextChunk, isVerbatim } from './gather-context.ts';
import { chunkTitle } from './render-context.ts';

/** Metadata of a document's last change, as connectors and readers name it, the most specific first. */
const MODIFIED_KEYS = ['last_modified', 'modified', 'updated', 'date', 'published', 'created'];

/** Chunks as documents for the chat template of an engine. */
export function toDocuments(chunks: readonly ContextChunk[]): PromptDocument[] {
  return chunks.map((chunk) => ({ title: chunkTitle(chunk), text: chunk.text }));
}

/** What joined documents need of a chunk. `storedText` differs from `text` where the offsets do not fit the text. */
export type JoinableChunk = Pick<
  ContextChunk,
  'documentId' | 'documentName' | 'headingPath' | 'startIndex' | 'endIndex' | 'text' | 'storedText' | 'score'
> & { modifiedAt?: number };

/** A chunk with the time of the last change of its document. */
export const toJoinable = (chunk: ContextChunk): JoinableChunk => ({ ...chunk, modifiedAt: modifiedAt(chunk) });

/**
 * Chunks as documents for an engine that selects from them, with the time of their last change and their score. Chunks
 * that overlap or follow each other in one document are joined, so that a section that was cut between them is whole.
 * Best first.
 */
export function toJoinedDocuments(chunks: readonly JoinableChunk[]): PromptDocument[] {
  const runs: Run[] = [];
  const ordered = chunks.map((chunk, rank) => ({ chunk, rank }));
  ordered.sort((a, b) => compare(a.chunk.documentId, b.chunk.documentId) || a.chunk.startIndex - b.chunk.startIndex);
  for (const { chunk, rank } of ordered) {
    const last = runs.at(-1);
    if (last !== undefined && follows(last, chunk)) {
      last.text += chunk.text.slice(Math.max(0, last.endIndex - chunk.startIndex));
      last.endIndex = Math.max(last.endIndex, chunk.endIndex);
      if (rank < last.rank) Object.assign(last, { rank, score: chunk.score });
    } else runs.push({ chunk, text: chunk.text, endIndex: chunk.endIndex, rank, score: chunk.score });
  }
  runs.sort((a, b) => a.rank - b.rank);
  return runs.map(({ chunk, text, score }) => ({
    title: chunkTitle(chunk),
    text,
    ...(chunk.modifiedAt !== undefined && { modifiedAt: chunk.modifiedAt }),
    score,
  }));
}

/** Joined chunks of one document. */
interface Run {
  /** The first chunk. */
  chunk: JoinableChunk;
  text: string;
  endIndex: number;
  /** Rank and score of the best chunk. */
  rank: number;
  score: number;
}

/** Whether a chunk continues a run. Chunks from which characters were removed cannot be joined by their offsets. */
function follows({ chunk: first, endIndex }: Run, next: JoinableChunk): boolean {
  return isVerbatim(first) && isVerbatim(next) && first.documentId === next.documentId && next.startIndex <= endIndex;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Unix seconds of a document's last change by its metadata, else of its ingestion. */
export function modifiedAt({ metadata, updatedAt }: ContextChunk): number {
  for (const key of MODIFIED_KEYS) {
    const milliseconds = Date.parse(String(metadata[key] ?? ''));
    if (Number.isFinite(milliseconds)) return Math.floor(milliseconds / 1_000);
  }
  return updatedAt;
}
