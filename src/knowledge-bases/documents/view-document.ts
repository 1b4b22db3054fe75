import type { DataSourceType } from '../source-types.ts';
import type { Chunk, Document } from './schema.ts';
import type { ChunkRow, DocumentRow } from './store.ts';

/** The document as the wire shows it. */
export function viewDocument(row: DocumentRow): Document {
  return {
    id: row.id,
    object: 'document',
    knowledge_base_id: row.knowledgeBaseId,
    data_source_id: row.dataSourceId,
    name: row.name,
    source_type: row.sourceType as DataSourceType,
    source_uri: row.sourceUri,
    mime_type: row.mimeType,
    bytes: row.bytes,
    content_hash: row.contentHash,
    chunk_count: row.chunkCount,
    status: row.status,
    error: row.error,
    warnings: row.warnings,
    metadata: row.metadata,
    unfilterable_keys: row.unfilterableKeys,
    created_at: seconds(row.createdAt),
    updated_at: seconds(row.updatedAt),
  };
}

/** The chunk as the wire shows it. */
export function viewChunk(row: ChunkRow): Chunk {
  return {
    id: row.id,
    object: 'chunk',
    document_id: row.documentId,
    text: row.text,
    tokens: row.tokens,
    start_index: row.startIndex,
    end_index: row.endIndex,
    page: row.page,
    heading_path: row.headingPath,
  };
}

/** Unix seconds. */
function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
