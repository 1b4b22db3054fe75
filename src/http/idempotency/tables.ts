import { index, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** First response to each `Idempotency-Key`, stored for 24 hours. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    organizationId: text('organization_id').notNull(),
    key: text().notNull(),
    /** SHA-256 of method, path and body. Another fingerprint under the same key is a conflict. */
    fingerprint: text().notNull(),
    /** Null while the first request is still running. */
    status: integer(),
    body: jsonb(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    /** The process that runs the first request. */
    processId: text('process_id'),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.key] }),
    index('idempotency_keys_by_age').on(table.createdAt),
  ],
);
