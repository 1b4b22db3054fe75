import { FailedStatement } from '../../db/failed-statement.ts';
import { ApiError } from '../../errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';
import { retryThroughOutage, StoreUnavailableError } from '../../lib/store-unavailable.ts';

/** A run waits for this long within one call; afterwards it ends without a failure, and the queue starts it again. */
const MAX_WAIT_MS = 15 * 60_000;

/** Whether a store does not respond, which is not the fault of a document. */
export function isOutage(error: unknown): boolean {
  return error instanceof StoreUnavailableError || (error instanceof FailedStatement && error.isUnavailable);
}

/** What an outage is logged with. */
export interface OutageContext {
  deps: { logger: Logger };
  job: { id: string };
  signal: AbortSignal;
}

/**
 * Repeats a call while a store, or the engine of the admitted model, does not respond. A failed document would be read
 * again by the next sync only.
 */
export function throughOutage<T>(context: OutageContext, call: () => Promise<T>): Promise<T> {
  const isEngineUnavailable = (error: unknown) => error instanceof ApiError && error.code === 'engine_unavailable';
  return repeat(context, call, (error) => isOutage(error) || isEngineUnavailable(error));
}

/**
 * Repeats a write while the search index does not respond. Not during an outage of the database: the outcome of a
 * transaction whose commit got no response is unknown, and only the next run of the job finds it out.
 */
export function throughIndexOutage<T>(context: OutageContext, call: () => Promise<T>): Promise<T> {
  return repeat(context, call, (error) => error instanceof StoreUnavailableError);
}

function repeat<T>(
  { deps, job, signal }: OutageContext,
  call: () => Promise<T>,
  isWaitedFor: (error: unknown) => boolean,
): Promise<T> {
  return retryThroughOutage(call, {
    signal,
    maxMs: MAX_WAIT_MS,
    isOutage: isWaitedFor,
    onOutage: (error, attempt) => {
      if (attempt === 0)
        deps.logger.warn({ job: job.id, error: describeError(error) }, 'store unavailable, ingestion suspended');
    },
  });
}
