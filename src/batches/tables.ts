import { bigint, index, integer, jsonb, pgTable, primaryKey, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';
import type { Metadata } from '../knowledge-bases/tables.ts';
import type { StoredCaller } from '../lib/stored-caller.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import type { BatchEndpointPath, BatchError, BatchStatus } from './schema.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });

/** Batches. Only `status` says what a batch is doing; each time is set when its status begins. */
export const batches = pgTable(
  'batches',
  {
    id: text().primaryKey(),
    organizationId: text('organization_id').notNull(),
    /** The key that created the batch, as it was then: its lines run with the permissions of that key. */
    caller: jsonb().$type<StoredCaller>().notNull(),
    endpoint: text().$type<BatchEndpointPath>().notNull(),
    inputFileId: text('input_file_id').notNull(),
    status: text().$type<BatchStatus>().notNull(),
    metadata: jsonb().$type<Metadata>().notNull(),
    /** Lifetime of the output and the error file; null: they do not expire. */
    outputExpirySeconds: integer('output_expiry_seconds'),
    /** The model of all lines; null if lines name several, and until the input file is validated. */
    model: text(),
    /** Validation errors, in line order; null unless the batch is `failed`. */
    errors: jsonb().$type<BatchError[]>(),
    outputFileId: text('output_file_id'),
    errorFileId: text('error_file_id'),
    /** Zero until the input file is validated. */
    totalLines: integer('total_lines').notNull().default(0),
    /** Both are incremented by the statement that stores the results of lines. */
    completedLines: integer('completed_lines').notNull().default(0),
    failedLines: integer('failed_lines').notNull().default(0),
    /** Price of the stored results, incremented with the counters; 1,000,000 micros are one credit. */
    costMicros: bigint('cost_micros', { mode: 'number' }).notNull().default(0),
    /** Tokens of the stored results, incremented with the counters. */
    promptTokens: bigint('prompt_tokens', { mode: 'number' }).notNull().default(0),
    cachedTokens: bigint('cached_tokens', { mode: 'number' }).notNull().default(0),
    completionTokens: bigint('completion_tokens', { mode: 'number' }).notNull().default(0),
    reasoningTokens: bigint('reasoning_tokens', { mode: 'number' }).notNull().default(0),
    createdAt: time('created_at').notNull(),
    expiresAt: time('expires_at').notNull(),
    inProgressAt: time('in_progress_at'),
    finalizingAt: time('finalizing_at'),
    completedAt: time('completed_at'),
    failedAt: time('failed_at'),
    expiredAt: time('expired_at'),
    cancellingAt: time('cancelling_at'),
    cancelledAt: time('cancelled_at'),
  },
  (table) => [index('batches_by_organization').on(table.organizationId, table.id)],
);

/**
 * The lines of batches that have not ended: where each stands in the input file, and its result. The rows are deleted
 * in the transaction that commits the output and error files.
 */
export const batchLines = pgTable(
  'batch_lines',
  {
    batchId: text('batch_id').notNull(),
    /** Line number in the input file, from 1; blank lines count. */
    line: integer().notNull(),
    /** `batch_req_...` */
    id: text().notNull(),
    customId: text('custom_id').notNull(),
    /** First byte of the line in the input file, and its length. */
    start: bigint({ mode: 'number' }).notNull(),
    bytes: integer().notNull(),
    /** Estimated bytes of memory while the line runs: request and response. */
    weight: bigint({ mode: 'number' }).notNull(),
    /** Hashes of prefixes of the prompt: lines with a common prefix follow each other (`orderByPrefix`). */
    orderKey: text('order_key').notNull(),
    status: text({ enum: ['pending', 'completed', 'failed'] })
      .notNull()
      .default('pending'),
    /** Status, request id and JSON body of the response; null for a line that never ran. */
    statusCode: integer('status_code'),
    requestId: text('request_id'),
    body: text(),
    /** JSON of `{code, message}`; null for a completed line. */
    error: text(),
    /** Usage of the line that is not yet known to be in the ledger (transactional outbox). */
    unrecordedUsage: jsonb('unrecorded_usage').$type<UsageRecord[]>(),
  },
  (table) => [
    primaryKey({ columns: [table.batchId, table.line] }),
    uniqueIndex('batch_lines_by_custom_id').on(table.batchId, table.customId),
  ],
);

/**
 * Ranges of lines that have not ended. A run of a range increments `run`, its fencing token: results of earlier runs,
 * such as those of a process that was suspended, are not stored any more.
 */
export const batchRanges = pgTable(
  'batch_ranges',
  {
    batchId: text('batch_id').notNull(),
    /** From 0, in the order in which they start. */
    range: integer().notNull(),
    /** Runs so far; 0: not started. */
    run: integer().notNull().default(0),
    /** Line numbers, in the order in which they run. */
    lines: integer().array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.batchId, table.range] })],
);
