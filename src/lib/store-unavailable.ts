import { describeError, OperatorError } from './operator-error.ts';
import { retry } from './retry.ts';

/** Delays between attempts while a store does not respond. The last one repeats. */
const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * The blob store or the search index does not respond. Nothing is known about the data: the same call may succeed
 * later. Not for errors that say something about the data, such as a missing blob or a damaged file.
 */
export class StoreUnavailableError extends OperatorError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

/** Next step of the operator when a store or the database rejects writes. */
export const FREE_SPACE = 'Free space on its disk, or make it writable; writing then resumes by itself.';

/** A store can be read, but rejects writes: its disk or quota is full, or read-only. `store` begins the sentence. */
export class StoreNotWritableError extends StoreUnavailableError {
  constructor(store: string, reason: string, cause: unknown) {
    super(`${store} cannot be written: ${reason}. ${FREE_SPACE}`, cause);
  }
}

/** Errors of writes that a disk rejects: full, read-only, or over a quota (unnamed in Node: Linux 122, macOS 69). */
const REJECTED_WRITE = /^(ENOSPC|EROFS|EDQUOT|Unknown system error -(122|69))$/;

/**
 * Converts an error to a `StoreNotWritableError` if the disk rejects writes; `store` begins its sentence. Else returns
 * it.
 */
export function explainRejectedWrite(store: string, error: unknown): unknown {
  const { code = '' } = Object(error) as NodeJS.ErrnoException;
  return REJECTED_WRITE.test(code) ? new StoreNotWritableError(store, describeError(error), error) : error;
}

/** Options of `retryThroughOutage`. */
export interface OutageOptions {
  signal: AbortSignal;
  /** Whether an error is an outage; the others are thrown. */
  isOutage(error: unknown): boolean;
  /** Called before each delay; `attempt` counts from 0. */
  onOutage(error: unknown, attempt: number): void;
  /** Time after which the error of an outage is thrown. */
  maxMs: number;
}

/** Repeats a call with backoff while it fails because of an outage. Throws other errors and the signal's reason. */
export function retryThroughOutage<T>(call: () => Promise<T>, options: OutageOptions): Promise<T> {
  const { signal, isOutage, onOutage, maxMs } = options;
  return retry(call, { delaysMs: DELAYS_MS, budgetMs: maxMs, isPassing: isOutage, onRetry: onOutage, signal });
}
