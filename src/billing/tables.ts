import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * One row for each call of a model, written before its answer ends; what prices and limits are computed from. Its ids begin
 * with their time, so the primary key finds a span of time; each index more is paid for by every request.
 */
export const usageRecords = pgTable('usage_records', {
  id: text().primaryKey(),
  organizationId: text('organization_id').notNull(),
  keyId: text('key_id').notNull(),
  requestId: text('request_id').notNull(),
  /** The route, such as `/v1/chat/completions`. */
  endpoint: text().notNull(),
  /** The model id that the caller named. */
  model: text().notNull(),
  promptTokens: integer('prompt_tokens').notNull(),
  /** The part of `promptTokens` that came from the prefix cache. */
  cachedTokens: integer('cached_tokens').notNull(),
  completionTokens: integer('completion_tokens').notNull(),
  /** `completed`; `cancelled`: the caller left; `failed`: the engine broke off. What was produced counts in each. */
  outcome: text({ enum: ['completed', 'cancelled', 'failed'] }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
});
