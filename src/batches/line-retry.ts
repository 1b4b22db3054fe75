import type { ApiError } from '../errors.ts';

/** Attempts of a line while its engine is unavailable: about six minutes, longer than the restart of a model server. */
const MAX_UNAVAILABLE_ATTEMPTS = 10;
/** Attempts after an internal error, which may be caused by the line itself. */
const MAX_SERVER_ERROR_ATTEMPTS = 3;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/**
 * Milliseconds before the next attempt of a line whose attempt number `attempt` (from 0) failed; null when the error is its result.
 * Exponential backoff with full jitter above `Retry-After`. `random`: in [0, 1).
 */
export function lineRetryDelay(error: ApiError, attempt: number, random: number): number | null {
  const isUnavailable = error.status === 503 || error.status === 429;
  const attempts = isUnavailable ? MAX_UNAVAILABLE_ATTEMPTS : MAX_SERVER_ERROR_ATTEMPTS;
  if ((!isUnavailable && error.status < 500) || attempt + 1 >= attempts) return null;
  const backoff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
  const wait = (error.retryAfterSeconds ?? 0) * 1_000;
  return Math.min(MAX_DELAY_MS, wait + backoff * random);
}
