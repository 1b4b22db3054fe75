import { bigint, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Running processes. What a process holds refers to its row, and ends with it. */
export const processes = pgTable('processes', {
  id: text().primaryKey(),
  /** Last heartbeat by the clock of the database; `infinity` where no other process can use the database. */
  renewedAt: timestamp('renewed_at', { withTimezone: true }).notNull(),
  /** Newest migration that the process knows. Null: a version before this column. */
  schemaVersion: bigint('schema_version', { mode: 'number' }),
});
