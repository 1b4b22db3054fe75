import { InvalidArgumentError } from 'commander';

const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const CREDIT_MICROS = 1_000_000;
/** Decimal places of a micro. */
const CREDIT_DECIMALS = 6;

/** Parses credits such as `100`, `0.5` or `-5` to micros. Throws an `InvalidArgumentError`. */
export function parseSignedCredits(text: string): number {
  const [, sign, whole, decimals = ''] = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) throw new InvalidArgumentError('Expected a number of credits such as 100 or 0.5.');
  const micros = Number(whole) * CREDIT_MICROS + Number(decimals.padEnd(CREDIT_DECIMALS, '0'));
  return sign === '' ? micros : -micros;
}

/** Parses credits that are not negative to micros. Throws an `InvalidArgumentError`. */
export function parseCredits(text: string): number {
  const micros = parseSignedCredits(text);
  if (text.includes('-')) throw new InvalidArgumentError('Expected a number of credits such as 100 or 0.5.');
  return micros;
}

/** Formats micros as credits, such as `0.5`. */
export function formatCredits(micros: number): string {
  return (micros / CREDIT_MICROS).toLocaleString('en-US', { maximumFractionDigits: CREDIT_DECIMALS });
}

/** Parses a duration such as `30d`, `12h`, `15m` or `90s` to seconds. Throws an `InvalidArgumentError`. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected a duration such as 30d, 12h, 15m or 90s.');
  return Number(count) * (SECONDS_PER_UNIT[unit] ?? 1);
}

/** Parses a positive integer. Throws an `InvalidArgumentError`. */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a positive integer.');
}

/** Parses a number of tokens, from 0. Throws an `InvalidArgumentError`. */
export function parseTokens(text: string): number {
  return text === '0' ? 0 : parseCount(text);
}

/** Collects the values of a repeatable option. */
export const collectValues = (value: string, earlier: readonly string[] = []): string[] => [...earlier, value];
