import type { ScoredChunk } from './retrieve.ts';
import type { RetrievedChunk } from './schema.ts';

/** A found chunk as the wire shows it. What is known of the chunk wins over what its document says of itself. */
export function viewChunk(chunk: ScoredChunk, includeMetadata: boolean): RetrievedChunk {
  return {
    chunk_id: chunk.id,
    text: chunk.text,
    score: chunk.score,
    ...(includeMetadata && { metadata: { ...chunk.metadata, ...chunkFields(chunk) } }),
    document_id: chunk.documentId,
    document_name: chunk.documentName,
  };
}

/** What is known of a chunk beside its text. */
export function chunkFields(chunk: {
  page: number | null;
  headingPath: readonly string[];
  startIndex: number;
  endIndex: number;
}): Record<string, unknown> {
  return {
    ...(chunk.page !== null && { page: chunk.page }),
    heading_path: chunk.headingPath,
    start_index: chunk.startIndex,
    end_index: chunk.endIndex,
  };
}
