import { chunkFields } from '../documents/metadata.ts';
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
