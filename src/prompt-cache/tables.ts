import { bigint, integer, jsonb, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

const count = (name: string) => bigint(name, { mode: 'number' });

/**
 * Usage of the prefix caches by process. A process replaces its own rows; those of exited processes keep their
 * evictions only.
 */
export const promptCacheUsage = pgTable(
  'prompt_cache_usage',
  {
    /** Empty in the row that sums up all ended processes. */
    processId: text('process_id').notNull(),
    model: text().notNull(),
    /** Null: no engine reports it. */
    bytes: count('bytes'),
    entries: count('entries').notNull(),
    /** Since the start of the process. */
    evictions: count('evictions').notNull(),
  },
  ({ processId, model }) => [primaryKey({ columns: [processId, model] })],
);

/** Counts that statistics leave out: those of the last reset. */
export interface CacheBaseline {
  model: string;
  hits: number;
  misses: number;
  cachedTokens: number;
  evictions: number;
}

/** The last reset of the statistics, in one row. */
export const promptCacheBaseline = pgTable('prompt_cache_baseline', {
  id: integer().primaryKey().default(1),
  counts: jsonb().$type<CacheBaseline[]>().notNull(),
  since: timestamp({ withTimezone: true }).notNull(),
});
