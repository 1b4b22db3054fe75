/**
 * The generic cell rate algorithm (ITU-T I.371) as a token bucket: a bucket holds the units of one minute and is
 * refilled continuously. Its whole state is one number, the time at which it is full again. Pure functions; times are
 * milliseconds of any one clock.
 */

/** A bucket refills completely in this time, so its limit per minute is also its burst. */
export const WINDOW_MS = 60_000;

/** Tolerance for rounding errors: a microsecond. */
const EPSILON_MS = 1e-3;

/** State of a bucket at one time. */
export interface BucketState {
  limit: number;
  /** Whole units that can be taken now. 0 for a bucket in debt. */
  remaining: number;
  /** Time until the bucket is full. More than `WINDOW_MS` for a bucket in debt. */
  resetMs: number;
}

/** State of a bucket of `limit` units per minute that is full at `fullAt`. */
export function bucketState(fullAt: number, limit: number, now: number): BucketState {
  const resetMs = Math.max(0, fullAt - now);
  const remaining = Math.max(0, Math.floor(((WINDOW_MS - resetMs + EPSILON_MS) * limit) / WINDOW_MS));
  return { limit, remaining: Math.min(limit, remaining), resetMs };
}

/**
 * Whole milliseconds until `cost` units can be taken: 0 now, Infinity never, because the bucket is too small. A cost of
 * 0 can always be taken.
 */
export function waitMs(fullAt: number, { limit, cost }: { limit: number; cost: number }, now: number): number {
  if (cost === 0) return 0;
  if (cost > limit) return Number.POSITIVE_INFINITY;
  const wait = Math.max(0, fullAt - now) + (cost * WINDOW_MS) / limit - WINDOW_MS;
  return Math.max(0, Math.ceil(wait - EPSILON_MS));
}

/**
 * The time at which the bucket is full after `cost` units were taken. Takes units that the bucket does not hold, too:
 * it is then in debt. A negative cost returns units.
 */
export function fullAfter(fullAt: number, { limit, cost }: { limit: number; cost: number }, now: number): number {
  return Math.max(now, Math.max(fullAt, now) + (cost * WINDOW_MS) / limit);
}
