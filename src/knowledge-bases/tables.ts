import { type AnyPgColumn, bigint, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { STORED_SOURCE_TYPES } from '../connectors/source-types.ts';

/** JSON objects of callers. */
export type Metadata = Record<string, unknown>;

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Knowledge bases. Changes of documents update the counts in the same transaction. */
export const knowledgeBases = pgTable(
  'knowledge_bases',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** Id of the user or key whose chat owns the knowledge base. Only this caller can read it. Null if it is shared. */
    privateTo: text('private_to'),
    name: text().notNull(),
    description: text().notNull(),
    embeddingModel: text('embedding_model').notNull(),
    /**
     * Fingerprint of the model whose vectors searches use; null before the first chunk, and while the index is rebuilt.
     * It changes when the vectors of another model are complete.
     */
    embeddingFingerprint: text('embedding_fingerprint'),
    /** Column of the index that has these vectors. */
    vectorColumn: text('vector_column').notNull().default('vector'),
    chunkingType: text('chunking_type', { enum: ['recursive', 'fixed_size', 'semantic'] }).notNull(),
    chunkSizeTokens: integer('chunk_size_tokens').notNull(),
    chunkOverlapTokens: integer('chunk_overlap_tokens').notNull(),
    documentCount: integer('document_count').notNull(),
    chunkCount: integer('chunk_count').notNull(),
    status: text({ enum: ['active', 'indexing', 'error'] }).notNull(),
    /**
     * State of the search index. `damaged`: its table is to be dropped. `rebuilding`: chunks are embedded again; all of
     * them without an `embeddingFingerprint`. Unless the index is searched, keyword searches read the database.
     */
    indexState: text('index_state', { enum: ['ready', 'damaged', 'rebuilding'] })
      .notNull()
      .default('ready'),
    /** `INDEX_VERSION` of the process that created the index. */
    indexVersion: integer('index_version').notNull().default(1),
    metadata: jsonb().$type<Metadata>().notNull(),
    /** Searches are rejected after this many days without activity; null: never. */
    expiresAfterDays: integer('expires_after_days'),
    /** Last search or change, with a precision of a minute; null: `createdAt`. */
    lastActiveAt: at('last_active_at'),
    createdAt: at('created_at').notNull(),
    updatedAt: at('updated_at').notNull(),
  },
  (table) => [index('knowledge_bases_by_organization').on(table.organizationId, table.id)],
);

/** Column of rows that are deleted with their knowledge base. */
export const knowledgeBaseColumn = () =>
  text('knowledge_base_id')
    .notNull()
    .references((): AnyPgColumn => knowledgeBases.id, { onDelete: 'cascade' });

/** Deleted knowledge bases whose index still exists. A row is deleted with the table of the index. */
export const droppedIndexes = pgTable('dropped_indexes', {
  knowledgeBaseId: text('knowledge_base_id').primaryKey(),
  createdAt: at('created_at').notNull(),
});

/** Bytes; may exceed 32 bits. */
export const byteCount = (name: string) => bigint(name, { mode: 'number' });

/** A `JobError`, which is declared above this layer. */
export interface StoredError {
  code: string;
  message: string;
  param: null;
  retryable: boolean;
}

/** Data sources. */
export const dataSources = pgTable(
  'data_sources',
  {
    id: text().primaryKey(),
    knowledgeBaseId: knowledgeBaseColumn(),
    organizationId: text('organization_id').notNull(),
    type: text({
      enum: STORED_SOURCE_TYPES,
    }).notNull(),
    name: text().notNull(),
    /** The config without its secrets. */
    config: jsonb().$type<Metadata>().notNull(),
    /** The encrypted secrets of the config; null without secrets. */
    sealedSecrets: text('sealed_secrets'),
    status: text({ enum: ['processing', 'active', 'error'] }).notNull(),
    /** Number of ingested documents. Changes of documents update it in the same transaction. */
    documentCount: integer('document_count').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
    lastSyncedAt: timestamp('last_synced_at', { withTimezone: true }),
    /** Error of the last sync; null when it completed. */
    error: jsonb().$type<StoredError>(),
  },
  (table) => [index('data_sources_by_knowledge_base').on(table.knowledgeBaseId, table.id)],
);
