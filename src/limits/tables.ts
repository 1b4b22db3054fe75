import { doublePrecision, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { processes } from '../leases/tables.ts';

/**
 * Buckets of requests and tokens that several processes share. Unlogged: no write waits for the disk, and a crash of
 * the server fills all buckets. Rows of full buckets may be deleted.
 */
export const rateLimitBuckets = pgTable('rate_limit_buckets', {
  id: text().primaryKey(),
  /** Milliseconds since 1970, by the clock of the database. */
  fullAtMs: doublePrecision('full_at_ms').notNull(),
});

/** Concurrency slots that a process holds, until it ends. Unlogged, too. */
export const rateLimitSlots = pgTable(
  'rate_limit_slots',
  {
    id: text().notNull(),
    processId: text('process_id')
      .notNull()
      .references(() => processes.id, { onDelete: 'cascade' }),
    held: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.id, table.processId] })],
);
