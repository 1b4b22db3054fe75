import { index, integer, jsonb, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { type Metadata, ofKnowledgeBase } from '../tables.ts';
import { DATA_SOURCE_TYPES } from './types.ts';

/** Where documents come from. */
export const dataSources = pgTable(
  'data_sources',
  {
    id: text().primaryKey(),
    knowledgeBaseId: ofKnowledgeBase(),
    organizationId: text('organization_id').notNull(),
    type: text({
      enum: DATA_SOURCE_TYPES,
    }).notNull(),
    name: text().notNull(),
    /** Without what is secret of it. */
    config: jsonb().$type<Metadata>().notNull(),
    /** What is secret of the config, sealed; null where nothing is. */
    sealedSecrets: text('sealed_secrets'),
    status: text({ enum: ['processing', 'active', 'error'] }).notNull(),
    /** Documents that were ingested; kept by whoever changes documents, in the same transaction. */
    documentCount: integer('document_count').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
    lastSyncedAt: timestamp('last_synced_at', { withTimezone: true }),
  },
  (table) => [index('data_sources_by_knowledge_base').on(table.knowledgeBaseId, table.id)],
);
