/** Digits after the decimal point at most: what a double can hold beside some digits before it. */
const FRACTION = '[0-9]{1,15}';
/** Digits before the decimal point at most, where a range leaves them open. */
const OPEN_DIGITS = 15;

/** Bounds of a number, as a schema gives them. Null: none. */
export interface Range {
  minimum: number | null;
  maximum: number | null;
  /** Whether the bounds themselves are excluded. */
  aboveMinimum: boolean;
  belowMaximum: boolean;
}

const digit = (from: number, to: number): string => (from === to ? `"${from}"` : `[${from}-${to}]`);

/** Alternatives for the whole numbers from `low` to `high`, two texts of the same number of digits. */
function sameLength(low: string, high: string): string[] {
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (lowRest === '') return [digit(first, last)];
  if (first === last) return sameLength(lowRest, highRest).map((rest) => `${digit(first, first)} ${rest}`);
  const alternatives: string[] = [];
  const lowIsRound = /^0+$/.test(lowRest);
  const highIsRound = /^9+$/.test(highRest);
  if (!lowIsRound) {
    alternatives.push(
      ...sameLength(lowRest, '9'.repeat(lowRest.length)).map((rest) => `${digit(first, first)} ${rest}`),
    );
  }
  const [from, to] = [lowIsRound ? first : first + 1, highIsRound ? last : last - 1];
  if (from <= to) alternatives.push(`${digit(from, to)} [0-9]{${lowRest.length}}`);
  if (!highIsRound) {
    alternatives.push(
      ...sameLength('0'.repeat(highRest.length), highRest).map((rest) => `${digit(last, last)} ${rest}`),
    );
  }
  return alternatives;
}

/** Alternatives for the whole numbers from `low` to `high`, neither negative. Null: as many digits as are allowed. */
function wholeNumbers(low: bigint, high: bigint | null): string[] {
  const top = high ?? 10n ** BigInt(Math.max(OPEN_DIGITS, low.toString().length)) - 1n;
  const alternatives: string[] = [];
  for (let from = low; from <= top; ) {
    const length = from.toString().length;
    const longest = 10n ** BigInt(length) - 1n;
    const to = longest < top ? longest : top;
    alternatives.push(...sameLength(from.toString(), to.toString()));
    from = to + 1n;
  }
  return alternatives;
}

/** Bounds that the number of digits keeps anyway are dropped, so that they cost no rules. */
function withoutFarBounds(range: Range): Range {
  const far = 10 ** OPEN_DIGITS;
  return {
    ...range,
    minimum: range.minimum !== null && range.minimum <= -far ? null : range.minimum,
    maximum: range.maximum !== null && range.maximum >= far ? null : range.maximum,
  };
}

/** A grammar expression for the integers in a range; null when there is none. */
export function integersIn(given: Range): string | null {
  const range = withoutFarBounds(given);
  const low = range.minimum === null ? null : wholeBound(range.minimum, range.aboveMinimum);
  const high = range.maximum === null ? null : -wholeBound(-range.maximum, range.belowMaximum);
  if (low !== null && high !== null && low > high) return null;
  const alternatives: string[] = [];
  if (low === null || low < 0n) {
    const nearest = high !== null && high < 0n ? -high : 1n;
    const negatives = wholeNumbers(nearest, low === null ? null : -low);
    alternatives.push(`"-" (${negatives.join(' | ')})`);
  }
  if (high === null || high >= 0n) alternatives.push(...wholeNumbers(low !== null && low > 0n ? low : 0n, high));
  return alternatives.join(' | ');
}

/** The least integer that is not below `bound`, or above it when the bound is excluded. */
function wholeBound(bound: number, excluded: boolean): bigint {
  const whole = BigInt(Math.ceil(bound));
  return excluded && Number(whole) === bound ? whole + 1n : whole;
}

/**
 * A grammar expression for decimal numbers in a range, without exponent; null when no such number can be written. Where
 * a bound is no integer, numbers between it and the next integer are left out: what is made is always in the range.
 */
export function numbersIn(given: Range): string | null {
  const range = withoutFarBounds(given);
  const positive = magnitudes(range.minimum, range.maximum, range.aboveMinimum, range.belowMaximum);
  const mirrored =
    range.minimum !== null && range.minimum >= 0
      ? []
      : magnitudes(negated(range.maximum), negated(range.minimum), range.belowMaximum, range.aboveMinimum);
  const alternatives = [...(mirrored.length > 0 ? [`"-" (${mirrored.join(' | ')})`] : []), ...positive];
  return alternatives.length === 0 ? null : alternatives.join(' | ');
}

const negated = (bound: number | null): number | null => (bound === null ? null : -bound);

/** Alternatives for the numbers of a range that are not negative. */
function magnitudes(minimum: number | null, maximum: number | null, above: boolean, below: boolean): string[] {
  if (maximum !== null && (maximum < 0 || (maximum === 0 && below))) return [];
  const from = minimum === null || minimum < 0 ? 0n : BigInt(Math.ceil(minimum));
  const openAtFrom = above && minimum !== null && Number(from) === minimum;
  const to = maximum === null ? null : BigInt(Math.floor(maximum));
  const alternatives: string[] = [];
  if (openAtFrom && (to === null || from < to)) {
    alternatives.push(`"${from}." "0"{0,14} [1-9] [0-9]{0,14}`);
  }
  const first = openAtFrom ? from + 1n : from;
  const last = to === null ? null : to - 1n;
  if (last === null || first <= last) {
    alternatives.push(`(${wholeNumbers(first, last).join(' | ')}) ("." ${FRACTION})?`);
  }
  const topIsIn = to !== null && to >= first && !(below && Number(to) === maximum);
  if (topIsIn) alternatives.push(`"${to}" ("." "0"{1,15})?`);
  return alternatives;
}
