import type { Deps } from '../deps.ts';
import type { ApiError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import { CallLog } from '../lib/call-log.ts';
import type { Call, Caller } from '../lib/caller.ts';
import type { FairSemaphore } from '../lib/fair-semaphore.ts';
import { newId } from '../lib/ids.ts';
import { describeCause } from '../lib/operator-error.ts';
import { retry } from '../lib/retry.ts';
import { type ReservedUsage, releaseCredits } from '../lib/usage-record.ts';
import { type BatchLineDeps, ENDPOINTS, type LineBody } from './endpoints.ts';
import type { LineReader } from './line-reader.ts';
import { LINE_RETRY } from './line-retry.ts';
import type { LineResult, PendingLine } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import type { BatchRow } from './store.ts';

/** What all lines of a running range share. */
export interface LineContext {
  deps: BatchLineDeps;
  permits: FairSemaphore;
  batch: BatchRow;
  caller: Caller;
  reader: LineReader;
  /** A line has its first permit. */
  onStart(): void;
  /** Aborts running lines: the process stops. */
  signal: AbortSignal;
  /** Starts no further attempt: the batch is cancelled or has expired, or the process stops. */
  stop: AbortSignal;
}

/**
 * Runs a line until it has a result, with retries. A line that waits for a retry holds neither a permit nor its body.
 * Throws the reason of the signals when no attempt may start any more.
 */
export function runLine(context: LineContext, line: PendingLine): Promise<LineResult> {
  const { permits, batch, stop, onStart } = context;
  const metrics = batchMetrics(context.deps.metrics);
  const attempt = async (retries: number) => {
    const run = () => {
      if (retries === 0) onStart();
      return attemptLine(context, line).finally(metrics.lineStarted());
    };
    const { result, error, call, body } = await permits.within(batch.organizationId, stop, run, line.weight);
    if (error === null || !LINE_RETRY.isPassing(error, retries)) {
      logLine(context, result, { call, body });
      return result;
    }
    releaseCredits(result.usage);
    throw error;
  };
  return retry(attempt, { ...LINE_RETRY, onRetry: () => metrics.lineRetried(), signal: stop });
}

/** Runs a line once. Its usage is part of the result: only the attempt that ends the line is billed. */
async function attemptLine(
  context: LineContext,
  line: PendingLine,
): Promise<{ result: LineResult; error: ApiError | null; call: LineCall; body: LineBody }> {
  const { deps, batch, caller, reader, signal } = context;
  const body = await reader.read(line, signal);
  const usage: ReservedUsage[] = [];
  const recordUsage: Deps['recordUsage'] = async (record, reservation) => void usage.push({ record, reservation });
  const requestId = newId('request');
  const log = new CallLog();
  const call = { caller, requestId, endpoint: batch.endpoint, priority: 'batch', isBatchLine: true, log } as const;
  const { kind } = ENDPOINTS[batch.endpoint];
  const result = { line: line.line, requestId, usage, kind };
  try {
    const text = await ENDPOINTS[batch.endpoint].complete({ ...deps, recordUsage }, call, body, signal);
    return {
      result: { ...result, status: 'completed', statusCode: 200, body: text, error: null },
      error: null,
      call,
      body,
    };
  } catch (thrown) {
    if (signal.aborted) releaseCredits(usage);
    signal.throwIfAborted();
    const error = knownError(thrown);
    logServerError(context, requestId, error);
    log.fail(error);
    const { code, message } = error;
    const failure = { status: 'failed', statusCode: error.status, body: JSON.stringify(error.body()) } as const;
    return { result: { ...result, ...failure, error: JSON.stringify({ code, message }) }, error, call, body };
  }
}

type LineCall = Call & { log: CallLog };

function logLine(
  { deps }: LineContext,
  { statusCode }: LineResult,
  { call, body }: { call: LineCall; body: LineBody },
): void {
  const { caller, log, requestId, endpoint } = call;
  const { organizationId, keyId } = caller;
  const line = { requestId, route: endpoint, organizationId, keyId, status: statusCode, isBatch: true };
  deps.logCall({ ...line, log, body, durationMs: Date.now() - log.startedAt, traceId: log.traceId });
}

function logServerError({ deps, batch }: LineContext, requestId: string, error: ApiError): void {
  if (error.status < 500) return;
  const fields = { batchId: batch.id, requestId, code: error.code, cause: describeCause(error) };
  deps.logger.warn(fields, 'attempt of a batch line failed');
}
