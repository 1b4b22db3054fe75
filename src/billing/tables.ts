import { bigint, boolean, date, index, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { processes } from '../leases/tables.ts';

/** Sums may exceed 32 bits. */
const sum = (name: string) => bigint(name, { mode: 'number' }).notNull();

/**
 * One row per model call, written before its response ends. Ids start with their creation time, so the primary key
 * serves time ranges; every further index would cost time in each request.
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
  /** Deducted from the balance: the cost, or 0 while the balance is unlimited. */
  chargedMicros: bigint('charged_micros', { mode: 'number' }).notNull().default(0),
  durationMs: integer('duration_ms').notNull().default(0),
  /** Part of the duration that the call waited in the queue of its engine. */
  queueMs: integer('queue_ms').notNull().default(0),
  /** Milliseconds to the first token of a streamed generation; null for other calls, and without a token. */
  firstTokenMs: integer('first_token_ms'),
  finishReason: text('finish_reason'),
  /** Whether a prefix of the prompt was cached; null without a processed prompt of a generation. */
  isCacheHit: boolean('is_cache_hit'),
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
    chargedMicros: sum('charged_micros').default(0),
    /** Processed prompts of generations, with and without a cached prefix. */
    cacheHits: sum('cache_hits').default(0),
    cacheMisses: sum('cache_misses').default(0),
  },
  ({ day, organizationId, keyId, model, endpoint }) => [
    primaryKey({ columns: [day, organizationId, keyId, model, endpoint] }),
    index('usage_daily_by_organization').on(organizationId, day),
  ],
);

/** Days that `usage_daily` holds, without gaps from the first on. */
export const usageRollups = pgTable('usage_rollups', { day: date({ mode: 'string' }).primaryKey() });

/** Changes of balances except usage. Append-only: amounts - `charged_micros` = balance, or 0 while unlimited. */
export const creditTransactions = pgTable(
  'credit_transactions',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** Negative: credit was removed. */
    amountMicros: bigint('amount_micros', { mode: 'number' }).notNull(),
    /** `set`: to an amount; `unlimited`: the rest was written off; `adjustment`: added or subtracted. */
    kind: text({ enum: ['set', 'unlimited', 'adjustment'] }).notNull(),
    /** Who changed it: the id of a key, or `cli`. */
    actor: text().notNull(),
    note: text(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  ({ organizationId, id }) => [index('credit_transactions_by_organization').on(organizationId, id)],
);

/** What keys with a budget have spent in a period. A row is created by the first call of the period. */
export const keySpend = pgTable(
  'key_spend',
  {
    keyId: text('key_id').notNull(),
    /** `2026-03-10` (day), `2026-03` (month) or `total`, in UTC. */
    period: text().notNull(),
    spentMicros: sum('spent_micros'),
  },
  ({ keyId, period }) => [primaryKey({ columns: [keyId, period] })],
);

/**
 * Amounts that processes hold for calls in progress: of a balance (`account`: the id of the organization) or of a
 * budget (`key id/period`). 0: revoked, and not acknowledged by the process yet. Those of processes that have ended do
 * not count.
 */
export const creditLeases = pgTable(
  'credit_leases',
  {
    account: text().notNull(),
    processId: text('process_id')
      .notNull()
      .references(() => processes.id, { onDelete: 'cascade' }),
    amountMicros: bigint('amount_micros', { mode: 'number' }).notNull(),
  },
  ({ account, processId }) => [primaryKey({ columns: [account, processId] })],
);
