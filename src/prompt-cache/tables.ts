import { bigint, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

const count = (name: string) => bigint(name, { mode: 'number' });

/** Prompt cache counts of each running process. A process replaces its own row; rows of ended processes expire. */
export const promptCacheCounts = pgTable('prompt_cache_counts', {
  processId: text('process_id').primaryKey(),
  hits: count('hits').notNull(),
  misses: count('misses').notNull(),
  cachedTokens: count('cached_tokens').notNull(),
  evictions: count('evictions').notNull(),
  /** Null: no engine of the process reports its memory. */
  bytes: count('bytes'),
  entries: count('entries').notNull(),
  /** Start of the process or time of the last reset, by the clock of the process. */
  since: timestamp({ withTimezone: true }).notNull(),
  /** Increases with every reset, so that the process notices it. */
  resets: integer().notNull(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
});
