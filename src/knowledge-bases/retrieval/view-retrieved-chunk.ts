import { hasSlides } from '../../extraction/formats.ts';
import { chunkFields } from '../documents/metadata.ts';
import type { ScoredChunk } from './retrieve.ts';
import type { RetrievedChunk } from './schema.ts';

/** Optional parts of search results. */
export interface ResultParts {
  metadata: boolean;
  scores: boolean;
}

/** Converts a chunk to a search result. Fields of the chunk override metadata of its document. */
export function viewRetrievedChunk(chunk: ScoredChunk, include: ResultParts): RetrievedChunk {
  const slide = hasSlides(chunk.mimeType) && { slide: chunk.page };
  return {
    chunk_id: chunk.id,
    text: chunk.text,
    score: chunk.score,
    ...(include.scores && { scores: chunk.scores }),
    ...(include.metadata && { metadata: { ...chunk.metadata, ...chunkFields(chunk), ...slide } }),
    document_id: chunk.documentId,
    document_name: chunk.documentName,
  };
}
