import type { Caller } from '../lib/caller.ts';

/** State of one bucket, as the `x-ratelimit-*` headers show it. */
export interface Bucket {
  limit: number;
  remaining: number;
  /** Seconds until it is full again. */
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
const VERY_MANY = 1_000_000_000;
const UNLIMITED: RateLimitState = {
  requests: { limit: VERY_MANY, remaining: VERY_MANY, resetSeconds: 0 },
  tokens: { limit: VERY_MANY, remaining: VERY_MANY, resetSeconds: 0 },
};

/** A limiter that accepts every request. */
export const unlimited: Limit = () => UNLIMITED;

const headersOfState = new WeakMap<RateLimitState, Record<string, string>>();

/** The six `x-ratelimit-*` response headers. */
export function rateLimitHeaders(state: RateLimitState): Record<string, string> {
  const known = headersOfState.get(state);
  if (known !== undefined) return known;
  const headers: Record<string, string> = {};
  for (const kind of ['requests', 'tokens'] as const) {
    headers[`x-ratelimit-limit-${kind}`] = String(state[kind].limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(state[kind].remaining);
    headers[`x-ratelimit-reset-${kind}`] = `${state[kind].resetSeconds}s`;
  }
  headersOfState.set(state, headers);
  return headers;
}
