import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * One row per model call, written before its response ends; prices and limits are computed from it. Ids start with their creation time,
 * so the primary key serves time ranges; every further index would cost time in each request.
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
  /** `cancelled`: the client disconnected; `failed`: the engine failed. Generated tokens count in every case. */
  outcome: text({ enum: ['completed', 'cancelled', 'failed'] }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
});
