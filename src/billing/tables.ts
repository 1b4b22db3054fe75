import { bigint, boolean, date, index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/** Sums may exceed 32 bits. */
const sum = (name: string) => bigint(name, { mode: 'number' }).notNull();

/**
 * One row per model call, written before its response ends. Ids start with their creation time, so the primary key serves time ranges;
 * every further index would cost time in each request.
 */
export const usageRecords = pgTable('usage_records', {
  id: text().primaryKey(),
  organizationId: text('organization_id').notNull(),
  keyId: text('key_id').notNull(),
  requestId: text('request_id').notNull(),
  /** The route, such as `/v1/chat/completions`. */
  endpoint: text().notNull(),
  /** The requested model id. */
  model: text().notNull(),
  promptTokens: integer('prompt_tokens').notNull(),
  /** Prompt tokens that were read from the prefix cache. */
  cachedTokens: integer('cached_tokens').notNull(),
  completionTokens: integer('completion_tokens').notNull(),
  searches: integer().notNull().default(0),
  rerankUnits: integer('rerank_units').notNull().default(0),
  costMicros: bigint('cost_micros', { mode: 'number' }).notNull().default(0),
  durationMs: integer('duration_ms').notNull().default(0),
  finishReason: text('finish_reason'),
  isBatch: boolean('is_batch').notNull().default(false),
  /** `cancelled`: the client disconnected; `failed`: the engine failed. Generated tokens count in every case. */
  outcome: text({ enum: ['completed', 'cancelled', 'failed'] }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
});

/** Sums of the usage records of a UTC day, kept when the records are deleted. */
export const usageDaily = pgTable(
  'usage_daily',
  {
    day: date({ mode: 'string' }).notNull(),
    organizationId: text('organization_id').notNull(),
    keyId: text('key_id').notNull(),
    model: text().notNull(),
    endpoint: text().notNull(),
    requests: sum('requests'),
    promptTokens: sum('prompt_tokens'),
    cachedTokens: sum('cached_tokens'),
    completionTokens: sum('completion_tokens'),
    searches: sum('searches'),
    rerankUnits: sum('rerank_units'),
    costMicros: sum('cost_micros'),
  },
  ({ day, organizationId, keyId, model, endpoint }) => [
    primaryKey({ columns: [day, organizationId, keyId, model, endpoint] }),
    index('usage_daily_by_organization').on(organizationId, day),
  ],
);

/** Days that `usage_daily` holds, without gaps from the first on. */
export const usageRollups = pgTable('usage_rollups', { day: date({ mode: 'string' }).primaryKey() });
