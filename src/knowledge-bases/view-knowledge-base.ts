import type { KnowledgeBase, ListedKnowledgeBase } from './schema.ts';
import type { KnowledgeBaseRow } from './store.ts';

/** The knowledge base as a list shows it. */
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
    created_at: seconds(row.createdAt),
    updated_at: seconds(row.updatedAt),
  };
}

/** The whole knowledge base. */
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

/** Unix seconds. */
function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
