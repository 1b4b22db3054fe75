import type { Caller } from '../lib/caller.ts';

/** State of one bucket, as the `x-ratelimit-*` headers show it. */
export interface Bucket {
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full. */
  resetSeconds: number;
}

/** Rate-limit state of a key after counting a request. */
export interface RateLimitState {
  requests: Bucket;
  tokens: Bucket;
}

/** Counts a request against its key's limits. Throws 429 `rate_limit_exceeded` when one is used up. */
export type Limit = (caller: Caller | null) => RateLimitState;

/** Header value for "no limit". */
const NO_LIMIT = 1_000_000_000;
const UNLIMITED: RateLimitState = {
  requests: { limit: NO_LIMIT, remaining: NO_LIMIT, resetSeconds: 0 },
  tokens: { limit: NO_LIMIT, remaining: NO_LIMIT, resetSeconds: 0 },
};

/** A limiter that accepts every request. */
export const unlimited: Limit = () => UNLIMITED;

const headerCache = new WeakMap<RateLimitState, Record<string, string>>();

/** The six `x-ratelimit-*` response headers. */
export function rateLimitHeaders(state: RateLimitState): Record<string, string> {
  const cached = headerCache.get(state);
  if (cached !== undefined) return cached;
  const headers: Record<string, string> = {};
  for (const kind of ['requests', 'tokens'] as const) {
    headers[`x-ratelimit-limit-${kind}`] = String(state[kind].limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(state[kind].remaining);
    headers[`x-ratelimit-reset-${kind}`] = `${state[kind].resetSeconds}s`;
  }
  headerCache.set(state, headers);
  return headers;
}
