import { index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { knowledgeBaseColumn } from '../../knowledge-bases/tables.ts';

/** File batches of vector stores. Their status is that of their files. */
export const fileBatches = pgTable(
  'vector_store_file_batches',
  {
    id: text().primaryKey(),
    knowledgeBaseId: knowledgeBaseColumn(),
    organizationId: text('organization_id').notNull(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    cancelledAt: timestamp('cancelled_at', { withTimezone: true }),
  },
  (table) => [index('vector_store_file_batches_by_knowledge_base').on(table.knowledgeBaseId)],
);

/** Files of batches. */
export const fileBatchFiles = pgTable(
  'vector_store_file_batch_files',
  {
    batchId: text('batch_id')
      .notNull()
      .references(() => fileBatches.id, { onDelete: 'cascade' }),
    fileId: text('file_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.batchId, table.fileId] })],
);
