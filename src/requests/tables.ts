import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, jsonb, pgTable, smallint, text } from 'drizzle-orm/pg-core';
import type { CallStep } from '../lib/call-log.ts';

/**
 * One row per request to a route that calls models, written after its response. Partitioned by range of the id, one
 * partition a UTC day: ids begin with their creation time, so a lookup by id and a page by time read few partitions.
 */
export const requestLog = pgTable(
  'request_log',
  {
    /** `req_...`: the `x-request-id` of the response. */
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    keyId: text('key_id').notNull(),
    /** Such as `/v1/chat/completions`. */
    route: text().notNull(),
    /** Null when the request was rejected before its model was known. */
    model: text(),
    /** HTTP status; that of the error for a stream that failed after its head, and 499 when the client disconnected. */
    status: smallint().notNull(),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
    modelCalls: smallint('model_calls').notNull(),
    promptTokens: integer('prompt_tokens').notNull(),
    cachedTokens: integer('cached_tokens').notNull(),
    completionTokens: integer('completion_tokens').notNull(),
    costMicros: bigint('cost_micros', { mode: 'number' }).notNull(),
    durationMs: integer('duration_ms').notNull(),
    queueMs: integer('queue_ms').notNull(),
    firstTokenMs: integer('first_token_ms'),
    isCacheHit: boolean('is_cache_hit'),
    guardrail: text({ enum: ['passed', 'flagged', 'blocked'] }),
    isBatch: boolean('is_batch').notNull(),
    traceId: text('trace_id'),
    /** Null when there is nothing beyond one model call. */
    steps: jsonb().$type<CallStep[]>(),
  },
  (table) => [
    index('request_log_by_organization').on(table.organizationId, table.id),
    index('request_log_by_key').on(table.keyId, table.id),
    index('request_log_errors').on(table.organizationId, table.id).where(sql`${table.status} >= 400`),
  ],
);
