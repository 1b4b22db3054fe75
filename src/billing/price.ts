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
  const { prompt, cached, completion, divisor } = toUnits(pricing, isBatch);
  const units =
    BigInt(tokens.promptTokens - tokens.cachedTokens) * prompt +
    BigInt(tokens.cachedTokens) * cached +
    BigInt(tokens.completionTokens) * completion;
  return Number((units + divisor - 1n) / divisor);
}

/** Maximum completion tokens that cost at most `micros` with an uncached prompt; null when completions are free. */
export function affordableTokens(
  micros: number,
  promptTokens: number,
  pricing: Pricing,
  isBatch = false,
): number | null {
  const { prompt, completion, divisor } = toUnits(pricing, isBatch);
  if (completion === 0n) return null;
  const left = BigInt(micros) * divisor - BigInt(promptTokens) * prompt;
  return left < 0n ? 0 : Number(left / completion);
}

/** Prices per token, and their units per micro: tenths of parts, so that the price of a cached token is an integer. */
function toUnits(pricing: Pricing, isBatch: boolean) {
  const [cached, completion] = [toParts(pricing.prompt), CACHED_DIVISOR * toParts(pricing.completion)];
  const divisor = CACHED_DIVISOR * PARTS_PER_MICRO * TOKENS_PER_UNIT[pricing.unit] * (isBatch ? BATCH_DIVISOR : 1n);
  return { prompt: CACHED_DIVISOR * cached, cached, completion, divisor };
}

const toParts = (credits: number): bigint => BigInt(Math.round(credits * PARTS_PER_CREDIT));
