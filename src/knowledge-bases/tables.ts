import { type AnyPgColumn, bigint, index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** JSON objects of callers. */
export type Metadata = Record<string, unknown>;

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Knowledge bases. The numbers are kept by whoever changes documents, in the same transaction. */
export const knowledgeBases = pgTable(
  'knowledge_bases',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    name: text().notNull(),
    description: text().notNull(),
    embeddingModel: text('embedding_model').notNull(),
    /** Of what embedded its chunks; null before the first were embedded, and while not all of them are of one model. */
    embeddingFingerprint: text('embedding_fingerprint'),
    chunkingType: text('chunking_type', { enum: ['recursive', 'fixed_size', 'semantic'] }).notNull(),
    chunkSizeTokens: integer('chunk_size_tokens').notNull(),
    chunkOverlapTokens: integer('chunk_overlap_tokens').notNull(),
    documentCount: integer('document_count').notNull(),
    chunkCount: integer('chunk_count').notNull(),
    status: text({ enum: ['active', 'indexing', 'error'] }).notNull(),
    metadata: jsonb().$type<Metadata>().notNull(),
    createdAt: at('created_at').notNull(),
    updatedAt: at('updated_at').notNull(),
  },
  (table) => [index('knowledge_bases_by_organization').on(table.organizationId, table.id)],
);

/** A column of what belongs to a knowledge base and goes with it. */
export const ofKnowledgeBase = () =>
  text('knowledge_base_id')
    .notNull()
    .references((): AnyPgColumn => knowledgeBases.id, { onDelete: 'cascade' });

/** Knowledge bases that are gone and whose index is not yet: a row goes when its table of the index has. */
export const droppedIndexes = pgTable('dropped_indexes', {
  knowledgeBaseId: text('knowledge_base_id').primaryKey(),
  createdAt: at('created_at').notNull(),
});

/** Bytes, which may be more than an integer of 32 bits holds. */
export const byteCount = (name: string) => bigint(name, { mode: 'number' });
