import type { Pricing } from '../engines/registry.ts';

/** Prices are computed with integers of this many parts of a credit: nine decimals of a configured price count. */
const PARTS_PER_CREDIT = 1_000_000_000;
/** 1 credit is 1,000,000 micros. */
const PARTS_PER_MICRO = BigInt(PARTS_PER_CREDIT / 1_000_000);
/** Cached prompt tokens cost one tenth, lines of batches one half. */
const CACHED_DIVISOR = 10n;
const BATCH_DIVISOR = 2n;

const TOKENS_PER_UNIT: Readonly<Record<Pricing['unit'], bigint>> = { per_1k_tokens: 1_000n, per_1m_tokens: 1_000_000n };

/** Tokens of a call. `cachedTokens` is part of `promptTokens`. */
export interface BilledTokens {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** Cost of a call in micros: exact, and rounded up once. `isBatch`: a line of a batch. */
export function costMicros(tokens: BilledTokens, pricing: Pricing, isBatch = false): number {
  const uncached = BigInt(tokens.promptTokens - tokens.cachedTokens);
  const [prompt, completion] = [toParts(pricing.prompt), toParts(pricing.completion)];
  // In tenths of parts, so that the price of a cached token is an integer.
  const tenths =
    CACHED_DIVISOR * (uncached * prompt + BigInt(tokens.completionTokens) * completion) +
    BigInt(tokens.cachedTokens) * prompt;
  const divisor = CACHED_DIVISOR * PARTS_PER_MICRO * TOKENS_PER_UNIT[pricing.unit] * (isBatch ? BATCH_DIVISOR : 1n);
  return Number((tenths + divisor - 1n) / divisor);
}

const toParts = (credits: number): bigint => BigInt(Math.round(credits * PARTS_PER_CREDIT));
