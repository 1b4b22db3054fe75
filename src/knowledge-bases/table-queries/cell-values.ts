/** A number in a cell, with its unit. */
export interface CellNumber {
  value: number;
  /** Decimal places as written. */
  decimals: number;
  /** Text beside the digits, such as `€` or `kg`; empty without one. */
  unit: string;
}

const NUMBER =
  /^(?<sign>[-+−(]*)\s*(?<before>\p{Sc}|[A-Z]{3}(?=\s))?\s*(?<minus>[-−])?(?<digits>\d[\d.,'’\u00a0\u202f ]*)(?<after>.*)$/u;
/** Spaces separate thousands; other digits with spaces are telephone numbers and the like. */
const SPACED = /^\d{1,3}(?:\s\d{3})+(?:[.,]\d+)?$/;
const UNIT = /^(?:%|‰|°[CF]?|\p{Sc}|[\p{L}µ²³/]{1,12}\.?)?$/u;

/** Whether a column writes decimals after a comma: some cell does, and none has a point before one or two digits. */
export function usesDecimalComma(cells: readonly string[]): boolean {
  const isComma = cells.some((cell) => /\d,\d{1,2}(?!\d)/.test(cell) || /\d\.\d{3},/.test(cell));
  return isComma && !cells.some((cell) => /\d\.\d{1,2}(?!\d)/.test(cell) || /\d,\d{3}\./.test(cell));
}

/** Reads a number with separators of thousands, currency or unit; null for other texts, such as dates and ids. */
export function parseNumber(text: string, hasDecimalComma = false): CellNumber | null {
  const { sign = '', before = '', minus = '', digits = '', after = '' } = NUMBER.exec(text.trim())?.groups ?? {};
  const rest = after.replace(/\)$/, '').trim();
  if (digits === '' || !UNIT.test(rest)) return null;
  if (/\d\s/.test(digits.trim()) && !SPACED.test(digits.trim())) return null;
  const separators = hasDecimalComma ? /[.'’\u00a0\u202f ]/g : /[,'’\u00a0\u202f ]/g;
  const plain = digits.trim().replace(separators, '').replace(',', '.');
  if (!/^\d+(?:\.\d+)?$/.test(plain)) return null;
  const isNegative = /[-−(]/.test(sign) || minus !== '';
  const value = Number(plain) * (isNegative ? -1 : 1);
  return { value, decimals: plain.split('.')[1]?.length ?? 0, unit: before || rest };
}

/** Milliseconds of a date with a year, as ISO 8601 or in English; null for other texts. */
export function parseDate(text: string): number | null {
  if (!/^(?:\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?|(?=.*\p{L}{3})(?=.*\b\d{4}\b)[\p{L}\d,. ]{6,30})$/u.test(text.trim()))
    return null;
  const milliseconds = Date.parse(`${text.trim()}${/^\d{4}-\d{2}-\d{2}$|T/.test(text.trim()) ? '' : ' UTC'}`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** Compares two texts: as numbers, else as dates, else null. */
export function compareCells(a: string, b: string, hasDecimalComma = false): number | null {
  const numbers = [parseNumber(a, hasDecimalComma), parseNumber(b)];
  if (numbers[0] != null && numbers[1] != null) return numbers[0].value - numbers[1].value;
  const [first, second] = [parseDate(a), parseDate(b)];
  return first === null || second === null ? null : first - second;
}
