import { ApiError } from '../errors.ts';
import type { RetryPolicy } from '../lib/retry.ts';

/** Attempts after an internal error, which may be caused by the line itself. */
const MAX_SERVER_ERROR_ATTEMPTS = 3;
const MAX_DELAY_MS = 60_000;
const DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, MAX_DELAY_MS, MAX_DELAY_MS];

/**
 * Retries of a batch line: exponential backoff with full jitter above `Retry-After`. Ten attempts while its engine is
 * unavailable take about six minutes, longer than the restart of a model server. All other errors are the result of the
 * line.
 */
export const LINE_RETRY = {
  delaysMs: DELAYS_MS,
  jitter: [0, 1],
  isPassing: (error, retries) => {
    if (!(error instanceof ApiError)) return false;
    if (error.status === 503 || error.status === 429) return retries < DELAYS_MS.length;
    return error.status >= 500 && retries + 1 < MAX_SERVER_ERROR_ATTEMPTS;
  },
  retryAfterMs: (error, delayMs) =>
    Math.min(MAX_DELAY_MS, ((error as ApiError).retryAfterSeconds ?? 0) * 1_000 + delayMs),
} as const satisfies RetryPolicy;
