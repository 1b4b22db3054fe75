import { doublePrecision, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';

/**
 * Buckets of requests and tokens that several processes share. Unlogged: no write waits for the disk, and a crash of the server fills all
 * buckets. Rows of full buckets may be deleted.
 */
export const rateLimitBuckets = pgTable('rate_limit_buckets', {
  id: text().primaryKey(),
  /** Milliseconds since 1970, by the clock of the database. */
  fullAtMs: doublePrecision('full_at_ms').notNull(),
});

/** Concurrency slots that a process holds. Unlogged, too. */
export const rateLimitSlots = pgTable(
  'rate_limit_slots',
  {
    id: text().notNull(),
    processId: text('process_id').notNull(),
    held: integer().notNull(),
    /** Milliseconds since 1970. A process that does not renew its slots until then has ended. */
    expiresAtMs: doublePrecision('expires_at_ms').notNull(),
  },
  (table) => [primaryKey({ columns: [table.id, table.processId] })],
);
