import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { KnowledgeBase, ListedKnowledgeBase } from './schema.ts';
import type { KnowledgeBaseRow } from './store.ts';

/** Converts a row to the knowledge base object of lists. */
export function viewListed(row: KnowledgeBaseRow): ListedKnowledgeBase {
  return {
    id: row.id,
    object: 'knowledge_base',
    name: row.name,
    description: row.description,
    embedding_model: row.embeddingModel,
    document_count: row.documentCount,
    chunk_count: row.chunkCount,
    status: row.status,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}

/** Converts a row to the knowledge base object. */
export function viewKnowledgeBase(row: KnowledgeBaseRow): KnowledgeBase {
  return {
    ...viewListed(row),
    chunking_strategy: {
      type: row.chunkingType,
      chunk_size: row.chunkSizeTokens,
      chunk_overlap: row.chunkOverlapTokens,
    },
    metadata: row.metadata,
  };
}
