import type { Database } from '../db/db.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { UsageRecord } from '../lib/usage-record.ts';

/** Maximum number of rows per statement. Beyond a few hundred rows, the time of the statement grows linearly. */
const MAX_BATCH_ROWS = 512;
/** Backoff between attempts. After the last attempt, the responses of the batch fail with 500. */
const RETRY_DELAYS_MS = [50, 250, 1_000];

/** One JSON parameter for any number of rows, so that the statement is planned once. */
const INSERT = `
  insert into usage_records (id, organization_id, key_id, request_id, endpoint, model, prompt_tokens,
    cached_tokens, completion_tokens, searches, rerank_units, cost_micros, duration_ms, finish_reason,
    is_batch, outcome, created_at)
  select id, organization_id, key_id, request_id, endpoint, model, prompt_tokens,
    cached_tokens, completion_tokens, searches, rerank_units, cost_micros, duration_ms, finish_reason,
    is_batch, outcome, created_at
  from json_to_recordset($1::json) as row (id text, organization_id text, key_id text, request_id text,
    endpoint text, model text, prompt_tokens int, cached_tokens int, completion_tokens int, searches int,
    rerank_units int, cost_micros bigint, duration_ms int, finish_reason text, is_batch boolean,
    outcome text, created_at timestamptz)`;

interface PendingRecord {
  record: UsageRecord;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Writes usage records with group commit: records that arrive while a statement is in flight are written together by the next one.
 */
export class Ledger {
  readonly #insert: (rows: string) => Promise<unknown>;
  readonly #insertIgnoringDuplicates: (rows: string) => Promise<unknown>;
  readonly #logger: Logger;
  #pending: PendingRecord[] = [];
  #writing: Promise<void> | null = null;

  constructor(db: Database, logger: Logger) {
    this.#insert = db.prepare('record_usage', INSERT);
    this.#insertIgnoringDuplicates = db.prepare('record_usage_again', `${INSERT} on conflict (id) do nothing`);
    this.#logger = logger;
  }

  /** Resolves when the record is durable. Retries cannot write it twice. */
  record(record: UsageRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ record, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves when all pending records are written or have failed permanently. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // One event loop turn, so that responses which end together share the first statement.
    await new Promise(setImmediate);
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, MAX_BATCH_ROWS);
      try {
        await this.#writeBatch(batch.map((pending) => pending.record));
        for (const pending of batch) pending.resolve();
      } catch (error) {
        this.#logger.error({ reason: describeError(error), records: batch.length }, 'usage records not written');
        for (const pending of batch) pending.reject(error);
      }
    }
    this.#writing = null;
  }

  async #writeBatch(records: UsageRecord[]): Promise<void> {
    const rows = JSON.stringify(records.map(toRow));
    // The first attempt needs no conflict check: no id was sent before.
    let write = this.#insert;
    for (const delayMs of RETRY_DELAYS_MS) {
      try {
        await write(rows);
        return;
      } catch (error) {
        this.#logger.warn({ reason: describeError(error) }, 'usage write failed, retrying');
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        write = this.#insertIgnoringDuplicates;
      }
    }
    await write(rows);
  }
}

function toRow(record: UsageRecord): object {
  return {
    id: record.id,
    organization_id: record.organizationId,
    key_id: record.keyId,
    request_id: record.requestId,
    endpoint: record.endpoint,
    model: record.model,
    prompt_tokens: record.promptTokens,
    cached_tokens: record.cachedTokens,
    completion_tokens: record.completionTokens,
    searches: record.searches,
    rerank_units: record.rerankUnits,
    cost_micros: record.costMicros,
    duration_ms: record.durationMs,
    finish_reason: record.finishReason,
    is_batch: record.isBatch,
    outcome: record.outcome,
    created_at: record.createdAt,
  };
}
