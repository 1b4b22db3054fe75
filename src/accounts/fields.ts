import { type Static, Type } from 'typebox';
import { MUST } from '../http/validation.ts';
import type { RateLimits } from '../lib/caller.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Characters of the name of a key or the note of a transaction. */
const MAX_NAME_CHARACTERS = 128;
/** Far above every machine; sums of tokens per minute stay exact. */
const MAX_RATE = 1_000_000_000;

/** A text that is not blank. PostgreSQL cannot store NUL characters. */
export const NonBlankText = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
  [MUST]: 'not be blank or contain NUL characters',
});

const Rate = (description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: MAX_RATE }), Type.Null()], { description }));

/** Rate limits of a key or an organization. */
export const LimitsInput = Type.Object({
  requests_per_minute: Rate('Null or absent: the default.'),
  tokens_per_minute: Rate('Prompt and completion tokens. Null or absent: the default.'),
  concurrent: Rate('Requests in progress. Null or absent: the default.'),
});

export type LimitsInput = Static<typeof LimitsInput>;

const Resolved = Type.Union([Type.Integer(), Type.Null()]);

/** Rate limits in responses. */
export const Limits = Type.Object({
  requests_per_minute: Resolved,
  tokens_per_minute: Resolved,
  concurrent: Resolved,
});

export type Limits = Static<typeof Limits>;

/** Converts limits of a request to their stored form. */
export function parseLimits(limits: LimitsInput | null): RateLimits | null {
  if (limits === null) return null;
  return {
    requestsPerMinute: limits.requests_per_minute ?? null,
    tokensPerMinute: limits.tokens_per_minute ?? null,
    concurrent: limits.concurrent ?? null,
  };
}

/** Converts stored limits to their form in responses. */
export function viewLimits(limits: RateLimits): Limits {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    concurrent: limits.concurrent,
  };
}

titleSchemas({ Limits });
