import { type Automaton, buildAutomaton, explore, intersection, isEmpty } from './automaton.ts';
import { type Characters, charactersIn } from './characters.ts';
import { parsePattern } from './pattern.ts';

/** Maximum digits before the point of unbounded ranges. */
const WHOLE_DIGITS = 16;
/** Maximum digits behind the point. */
const FRACTION_DIGITS = 17;
/** Significant digits that a double distinguishes: no number of so many is rounded onto an excluded bound. */
const EXACT_DIGITS = 15;
/** From here on, different decimals are the same double: a text below an excluded bound may be read as the bound. */
const FAR = 10 ** EXACT_DIGITS;
/** Maximum step for an automaton: its digits as an integer. */
const MAX_STEP = 3_000;

/** Constraints of a number. Null: no such bound. */
export interface NumberLimits {
  whole: boolean;
  minimum: number | null;
  maximum: number | null;
  /** Whether the bounds are exclusive. */
  aboveMinimum: boolean;
  belowMaximum: boolean;
  /** The number must be a multiple of each. */
  steps: readonly number[];
}

/** Texts of numbers with and without a minus sign. An empty automaton: there are none. */
export interface NumberLanguage {
  negative: Automaton;
  positive: Automaton;
}

/** A decimal as its significant digits. */
interface Decimal {
  whole: string;
  fraction: string;
}

/** Returns the texts (without exponent) of numbers within `limits`. Null: a step is too fine for an automaton. */
export function numberLanguage(limits: NumberLimits): NumberLanguage | null {
  const digits = wholeDigits(limits);
  const near = withReadableBounds(limits, digits);
  const base = compileLanguage(integerBounds(near, digits));
  const steps = limits.steps.map(multiplesPattern);
  if (steps.some((step) => step === null)) return null;
  const stepped = steps.reduce<Automaton>((all, step) => (step === null ? all : intersection(all, step)), base);
  const side = (low: number | null, high: number | null, above: boolean, below: boolean): Automaton => {
    const parts = [...(low === null ? [] : [atLeast(low, above)]), ...(high === null ? [] : [atMost(high, below)])];
    return parts.reduce((all, part) => intersection(all, compileLanguage(part)), stepped);
  };
  const { minimum, maximum, aboveMinimum, belowMaximum } = near;
  const negative = side(negated(maximum), negated(minimum), belowMaximum, aboveMinimum);
  // Zero has one spelling, without a minus sign.
  const nonZero = intersection(negative, compileLanguage('\\d*[1-9]\\d*(?:\\.\\d+)?|\\d+\\.\\d*[1-9]\\d*'));
  return { negative: nonZero, positive: side(minimum, maximum, aboveMinimum, belowMaximum) };
}

/** Whether there is no text at all. */
export const hasNoNumbers = ({ negative, positive }: NumberLanguage): boolean => isEmpty(negative) && isEmpty(positive);

const cache = new Map<string, Automaton>();
const MAX_CACHED = 512;

function compileLanguage(source: string): Automaton {
  const cached = cache.get(source);
  if (cached !== undefined) return cached;
  const made = buildAutomaton(parsePattern(source));
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(source, made);
  return made;
}

const negated = (bound: number | null): number | null => (bound === null ? null : -bound);

/** Maximum digits before the point: `EXACT_DIGITS` without a far bound, else enough for the bound nearest to zero. */
function wholeDigits({ minimum, maximum, steps }: NumberLimits): number {
  const far = [minimum, maximum].filter((bound) => bound !== null && Math.abs(bound) >= FAR / 10);
  if (far.length === 0 || steps.length > 0) return EXACT_DIGITS;
  // The bounds that a value is farther from zero than.
  const least = Math.max(minimum ?? 0, -(maximum ?? 0), 0);
  return Math.max(WHOLE_DIGITS, parseDecimal(least).whole.length);
}

/**
 * Drops bounds that no number of so many digits reaches. Far bounds that are excluded become inclusive bounds of the
 * next double: rounding keeps the order, so that a text within them is read as a number within them.
 */
function withReadableBounds(limits: NumberLimits, digits: number): NumberLimits {
  let { minimum, maximum, aboveMinimum, belowMaximum } = limits;
  const reached = 10 ** digits;
  if (minimum !== null && aboveMinimum && Math.abs(minimum) >= FAR)
    [minimum, aboveMinimum] = [nextDouble(minimum), false];
  if (maximum !== null && belowMaximum && Math.abs(maximum) >= FAR)
    [maximum, belowMaximum] = [-nextDouble(-maximum), false];
  if (minimum !== null && minimum <= -reached) minimum = null;
  if (maximum !== null && maximum >= reached) maximum = null;
  return { ...limits, minimum, maximum, aboveMinimum, belowMaximum };
}

/** The smallest double above a value that is not zero. */
function nextDouble(value: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

function integerBounds(limits: NumberLimits, digits: number): string {
  const bounds = [limits.minimum, limits.maximum].filter((bound) => bound !== null);
  const whole = `(?:0|[1-9]\\d{0,${digits - 1}})`;
  if (limits.whole) return whole;
  const largest = Math.max(...bounds.map((bound) => parseDecimal(Math.abs(bound)).whole.length), 1);
  const strict = limits.aboveMinimum || limits.belowMaximum;
  const fraction = strict ? Math.max(1, EXACT_DIGITS - largest) : FRACTION_DIGITS;
  return `${whole}(?:\\.\\d{1,${fraction}})?`;
}

/** Digits of a non-negative number. */
function parseDecimal(value: number): Decimal {
  const [digits = '0', exponent] = String(value).split('e');
  const [whole = '0', fraction = ''] = digits.split('.');
  const by = Number(exponent ?? 0);
  if (by === 0) return { whole, fraction };
  if (by > 0)
    return { whole: (whole + fraction.padEnd(by, '0')).slice(0, whole.length + by), fraction: fraction.slice(by) };
  const all = '0'.repeat(Math.max(0, -by - whole.length + 1)) + whole + fraction;
  const point = all.length - fraction.length + by;
  return { whole: all.slice(0, point) || '0', fraction: all.slice(point) };
}

const ANY_FRACTION = '(?:\\.\\d+)?';

/** A regular expression for the non-negative numbers from `bound` on. */
function atLeast(bound: number, excluded: boolean): string {
  if (bound < 0) return '.*';
  const { whole, fraction } = parseDecimal(bound);
  const ways = [`(?:${largerWholes(whole).join('|')})${ANY_FRACTION}`];
  const fractions = Array.from(fraction, (digit, i) =>
    digit === '9' ? null : `${fraction.slice(0, i)}[${Number(digit) + 1}-9]\\d*`,
  ).filter((way) => way !== null);
  if (excluded) fractions.push(`${fraction}\\d*[1-9]\\d*`);
  else if (fraction !== '') fractions.push(`${fraction}\\d*`);
  if (fractions.length > 0) ways.push(`${whole}\\.(?:${fractions.join('|')})`);
  if (fraction === '' && !excluded) ways.push(`${whole}${ANY_FRACTION}`);
  return `^(?:${ways.join('|')})$`;
}

function largerWholes(whole: string): string[] {
  const longer = `[1-9]\\d{${whole.length},}`;
  const same = Array.from(whole, (digit, i) =>
    digit === '9' ? null : `${whole.slice(0, i)}[${Number(digit) + 1}-9]\\d{${whole.length - i - 1}}`,
  ).filter((way) => way !== null);
  return [longer, ...same];
}

/** A regular expression for the non-negative numbers up to `bound`. */
function atMost(bound: number, excluded: boolean): string {
  if (bound < 0 || (bound === 0 && excluded)) return '[]';
  const { whole, fraction } = parseDecimal(bound);
  const ways = smallerWholes(whole).map((way) => `${way}${ANY_FRACTION}`);
  const fractions = Array.from(fraction, (digit, i) => {
    const before = fraction.slice(0, i);
    return digit === '0' ? [] : [`${before}[0-${Number(digit) - 1}]\\d*`];
  }).flat();
  // A number that ends where the bound goes on is smaller; trailing zeros do not change it.
  for (let i = 1; i < fraction.length; i++) fractions.push(fraction.slice(0, i));
  if (fraction !== '') {
    ways.push(whole);
    if (!excluded) fractions.push(`${fraction}0*`);
  } else if (!excluded) ways.push(`${whole}(?:\\.0+)?`);
  if (fractions.length > 0) ways.push(`${whole}\\.(?:${fractions.join('|')})`);
  return ways.length === 0 ? '[]' : `^(?:${ways.join('|')})$`;
}

function smallerWholes(whole: string): string[] {
  const shorter = whole.length > 1 ? ['0', `[1-9]\\d{0,${whole.length - 2}}`] : [];
  const same = Array.from(whole, (digit, i) => {
    const first = i === 0 && whole.length > 1 ? 1 : 0;
    if (Number(digit) <= first) return null;
    return `${whole.slice(0, i)}[${first}-${Number(digit) - 1}]\\d{${whole.length - i - 1}}`;
  }).filter((way) => way !== null);
  return [...shorter, ...same];
}

const DIGIT_CLASSES: Characters[] = [...Array.from('0123456789', charactersIn), charactersIn('.')];

/** Texts of the multiples of a step: its digits behind the point, then zeros. Null: too fine. */
function multiplesPattern(step: number): Automaton | null {
  const { whole, fraction } = parseDecimal(step);
  const scaled = BigInt(whole + fraction);
  if (scaled > BigInt(MAX_STEP) || fraction.length > EXACT_DIGITS) return null;
  const divisor = Number(scaled);
  const places = fraction.length;
  interface Position {
    rest: number;
    /** Digits behind the point; -1 before it. */
    behind: number;
  }
  const scale = (rest: number, by: number): number =>
    Array.from({ length: by }).reduce<number>((all) => (all * 10) % divisor, rest);
  return explore<Position>(
    DIGIT_CLASSES,
    { rest: 0, behind: -1 },
    {
      key: ({ rest, behind }) => `${rest},${behind}`,
      next: ({ rest, behind }, index) => {
        if (index === 10) return behind < 0 ? { rest, behind: 0 } : null;
        if (behind === places) return index === 0 ? { rest, behind } : null;
        return { rest: (rest * 10 + index) % divisor, behind: behind < 0 ? behind : behind + 1 };
      },
      accepts: ({ rest, behind }) => scale(rest, places - Math.max(0, behind)) === 0,
    },
  );
}
