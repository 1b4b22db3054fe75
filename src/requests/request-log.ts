import { getTableColumns } from 'drizzle-orm';
import type { Database } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import type { EndedRequest } from '../http/request-log.ts';
import { CallLog, type LoggedCall, parseTraceId } from '../lib/call-log.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { ContentRecorder } from './contents/content-recorder.ts';
import { createPartitions, PREPARE_MS } from './partitions.ts';
import { requestLog } from './tables.ts';

/** Maximum rows per statement. Serializing more rows would block the event loop for too long. */
const MAX_BATCH_ROWS = 64;
/** No response waits for its row, so that rows of many requests share a statement. */
const DELAY_MS = 200;
/** Rows in memory while the database is slow or down: about 20 MB. Later ones are dropped. */
const MAX_PENDING = 20_000;
/** Status of a request whose client disconnected, as in the log of nginx. */
const CLIENT_CLOSED_REQUEST = 499;
/** Longest model id of a rejected request that is stored. */
const MAX_MODEL_CHARACTERS = 128;

type Row = Omit<typeof requestLog.$inferInsert, 'steps'> & { steps: CallLog['steps'] | null };

const COLUMNS = Object.entries(getTableColumns(requestLog));
const NAMES = COLUMNS.map(([, { name }]) => name);
/** A later entry has the end of work that went on after the response, so it replaces the earlier one. */
const INSERT = `insert into request_log (${NAMES})
  select distinct on ("id") ${COLUMNS.map(([field]) => `"${field}"`)} from json_to_recordset($1::json)
    as row (${COLUMNS.map(([field, column]) => `"${field}" ${column.getSQLType()}`)}, "order" integer)
  order by "id", "order" desc
  on conflict (id) do update set ${NAMES.filter((name) => name !== 'id').map((name) => `${name} = excluded.${name}`)}`;

/** Dependencies of `RequestLog`. */
export interface RequestLogDeps {
  db: Pick<Database, 'prepare' | 'sql' | 'withLock'>;
  logger: Logger;
  now(): number;
}

/** Writes the request log with group commit. Requests never wait for it: a failed write loses rows and is logged. */
export class RequestLog {
  /** Recorder of request contents. */
  readonly contents: ContentRecorder;
  readonly #deps: RequestLogDeps;
  readonly #insert: (rows: string) => Promise<unknown>;
  readonly #rows: GroupCommit<Row>;
  #pending = 0;
  #dropped = 0;
  /** Until when there are partitions, in milliseconds since 1970. */
  #preparedUntil = 0;

  constructor(deps: RequestLogDeps) {
    this.#deps = deps;
    this.contents = new ContentRecorder(deps);
    this.#insert = deps.db.prepare('log_requests', INSERT);
    this.#rows = new GroupCommit<Row>({
      write: (rows) => this.#write(rows),
      maxWeight: MAX_BATCH_ROWS,
      delayMs: DELAY_MS,
      stopsOnFailure: false,
      onFailure: (rows, error) =>
        deps.logger.warn({ rows: rows.length, reason: describeError(error) }, 'rows of the request log lost'),
    });
  }

  /** Adds a request that has ended. */
  add(call: LoggedCall): void {
    this.contents.add(call);
    if (this.#pending >= MAX_PENDING) {
      this.#dropped += 1;
      return;
    }
    this.#pending += 1;
    void this.#rows.add(toRow(call));
  }

  /** Resolves when all rows are written or lost. */
  async flush(): Promise<void> {
    await Promise.all([this.#rows.flush(), this.contents.flush()]);
  }

  async #write(rows: readonly Row[]): Promise<void> {
    const { logger, now } = this.#deps;
    this.#pending -= rows.length;
    if (this.#dropped > 0) logger.warn({ rows: this.#dropped }, 'rows of the request log dropped');
    this.#dropped = 0;
    if (now() >= this.#preparedUntil) await this.#prepare(now());
    await this.#insert(JSON.stringify(rows.map((row, order) => ({ ...row, order }))));
  }

  /** The task of the worker creates partitions, too; a process must not depend on another one that may be down. */
  async #prepare(time: number): Promise<void> {
    await createPartitions(this.#deps.db, 'request_log', time);
    this.#preparedUntil = time + PREPARE_MS;
  }
}

/**
 * Adds an HTTP request, or a message of a WebSocket, to the request log. Those whose organization is unknown are not
 * stored.
 */
export function logRequest(
  { logCall }: Pick<Deps, 'logCall'>,
  { caller, callLog, requestId, route, milliseconds, ...ended }: EndedRequest,
): void {
  const log = callLog ?? new CallLog();
  const holder = caller ?? log.holder;
  if (holder === null || holder.organizationId === '') return;
  const isCancelled = !ended.isWhole && log.error === null;
  logCall({
    ...{ requestId, route, log, isBatch: false },
    organizationId: holder.organizationId,
    keyId: holder.keyId,
    status: isCancelled ? CLIENT_CLOSED_REQUEST : (log.error?.status ?? ended.status),
    durationMs: Math.round(milliseconds),
    body: ended.body ?? log.body,
    traceId: log.traceId ?? parseTraceId(ended.traceparent),
  });
}

function readModel(body: unknown): string | null {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body.model : null;
  return typeof model === 'string' && model !== '' && model.length <= MAX_MODEL_CHARACTERS ? model : null;
}

function toRow({ log, body, requestId, durationMs, traceId, ...call }: LoggedCall): Row {
  const { error, steps, calls, queueMs, firstTokenMs } = log;
  return {
    ...call,
    id: requestId,
    model: log.model ?? readModel(body),
    errorCode: error?.code ?? null,
    errorMessage: error?.message ?? null,
    modelCalls: calls,
    promptTokens: log.promptTokens,
    cachedTokens: log.cachedTokens,
    completionTokens: log.completionTokens,
    costMicros: log.costMicros,
    durationMs,
    queueMs: Math.min(queueMs, durationMs),
    firstTokenMs: firstTokenMs === null ? null : Math.min(firstTokenMs, durationMs),
    isCacheHit: log.isCacheHit,
    guardrail: log.guardrail,
    traceId,
    steps: steps.length > 1 ? steps : null,
  };
}
