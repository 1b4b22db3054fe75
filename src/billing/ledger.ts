import type { Database } from '../db/db.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { UsageRecord } from '../lib/usage-record.ts';

/** Rows of one statement: past a few hundred the statement's time grows with the rows, and nothing is won. */
const MAX_GROUP = 512;
/** Waits before a failed write is tried again; after the last the answers of the group fail with 500. */
const RETRY_DELAYS_MS = [50, 250, 1_000];

/** One parameter whatever the number of rows, so that the statement is planned once. */
const INSERT = `
  insert into usage_records (id, organization_id, key_id, request_id, endpoint, model, prompt_tokens,
    cached_tokens, completion_tokens, outcome, created_at)
  select id, organization_id, key_id, request_id, endpoint, model, prompt_tokens,
    cached_tokens, completion_tokens, outcome, created_at
  from json_to_recordset($1::json) as row (id text, organization_id text, key_id text, request_id text,
    endpoint text, model text, prompt_tokens int, cached_tokens int, completion_tokens int, outcome text,
    created_at timestamptz)`;

interface Waiting {
  record: UsageRecord;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Writes usage durably, many records in one statement: while one statement is in flight the records that come are
 * gathered, and are the next one. An idle system pays one write for an answer and a busy one shares it.
 */
export class Ledger {
  readonly #insert: (rows: string) => Promise<unknown>;
  readonly #insertAgain: (rows: string) => Promise<unknown>;
  readonly #logger: Logger;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;

  constructor(db: Database, logger: Logger) {
    this.#insert = db.prepare('record_usage', INSERT);
    this.#insertAgain = db.prepare('record_usage_again', `${INSERT} on conflict (id) do nothing`);
    this.#logger = logger;
  }

  /** Resolves when the record is durable. A record is written once, however often its write is tried. */
  record(record: UsageRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Resolves when everything recorded so far is written, or has failed for good. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // One turn of the event loop, so that answers which end together are one statement from the start.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      try {
        await this.#writeGroup(group.map((waiting) => waiting.record));
        for (const waiting of group) waiting.resolve();
      } catch (error) {
        this.#logger.error({ reason: describeError(error), records: group.length }, 'usage could not be recorded');
        for (const waiting of group) waiting.reject(error);
      }
    }
    this.#writing = null;
  }

  async #writeGroup(records: UsageRecord[]): Promise<void> {
    const rows = JSON.stringify(records.map(toRow));
    // The first try need not look for rows that are there: no id was sent before.
    let write = this.#insert;
    for (const delayMs of RETRY_DELAYS_MS) {
      try {
        await write(rows);
        return;
      } catch (error) {
        this.#logger.warn({ reason: describeError(error) }, 'recording usage failed; it is tried again');
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        write = this.#insertAgain;
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
    outcome: record.outcome,
    created_at: record.createdAt,
  };
}
