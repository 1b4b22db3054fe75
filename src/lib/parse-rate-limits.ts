import type { RateLimits } from './caller.ts';

/** Names of the parts of `QUIRE_RATE_LIMITS`, with the limits that they set. */
const PARTS: Readonly<Record<string, keyof RateLimits>> = {
  requests: 'requestsPerMinute',
  tokens: 'tokensPerMinute',
  concurrent: 'concurrent',
};
/** Maximum of a limit. Beyond it, the interval between two units would be below the resolution of the clock. */
const MAX_LIMIT = 1_000_000_000;
const EXPECTED = `must be 'off' or parts such as 'requests=6000,tokens=4000000,concurrent=256', each from 1 to ${MAX_LIMIT}`;

/**
 * Parses the value of `QUIRE_RATE_LIMITS`. A part that is absent, and every part of `off`, is null: unlimited. Throws
 * an Error whose message completes the sentence "it ...".
 */
export function parseRateLimits(text: string): RateLimits {
  const limits: RateLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };
  if (text.trim() === 'off') return limits;
  for (const part of text.split(',')) {
    const [, name = '', digits = ''] = /^\s*(\w+)\s*=\s*(\d+)\s*$/.exec(part) ?? [];
    const limit = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
    const value = Number(digits);
    if (limit === undefined || value < 1 || value > MAX_LIMIT) throw new Error(EXPECTED);
    if (limits[limit] !== null) throw new Error(`must set '${name}' only once`);
    limits[limit] = value;
  }
  return limits;
}
