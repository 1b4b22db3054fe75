import type { StoredSourceType } from '../../connectors/source-types.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { Chunk, Document } from './schema.ts';
import type { ChunkRow, DocumentRow } from './store.ts';

/** Converts a row to the document object. */
export function viewDocument(row: DocumentRow): Document {
  return {
    id: row.id,
    object: 'document',
    knowledge_base_id: row.knowledgeBaseId,
    data_source_id: row.dataSourceId,
    key: row.sourceType === 'api' ? row.itemKey : null,
    name: row.name,
    source_type: row.sourceType as StoredSourceType,
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
    expires_at: row.expiresAt === null ? null : toUnixSeconds(row.expiresAt),
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}

/** Converts a row to the chunk object. */
export function viewDocumentChunk(row: ChunkRow): Chunk {
  return {
    id: row.id,
    object: 'chunk',
    document_id: row.documentId,
    text: row.text,
    tokens: row.tokens,
    start_index: row.startIndex,
    end_index: row.endIndex,
    page: row.page,
    cells: row.cells,
    heading_path: row.headingPath,
  };
}
