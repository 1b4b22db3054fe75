import { createHash } from 'node:crypto';
import { collapseWhitespace } from '../lib/clean-text.ts';

/** A filterable metadata value. */
export type FieldValue = string | number | boolean;

/** Filterable metadata. A list holds several values of one field. */
export type FieldValues = Readonly<Record<string, FieldValue | readonly FieldValue[]>>;

/** Types with an order: numbers and dates. */
export type RangeKind = 'number' | 'date';

/** Separates key and value in labels. `collapseWhitespace` removes it from keys and values. */
const SEPARATOR = '\u0001';

/** An ISO 8601 date or date-time; UTC without a zone. */
const ISO_DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** Parses an ISO 8601 date to Unix milliseconds; null for other strings and invalid days. */
export function parseIsoDate(value: string): number | null {
  const text = value.trim();
  const day = ISO_DATE.exec(text)?.[1];
  if (day === undefined || !isValidDay(day)) return null;
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text.slice(10));
  const milliseconds = Date.parse(`${text.replace(' ', 'T')}${text.length > 10 && !hasZone ? 'Z' : ''}`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** Whether a day exists: `Date` parses February 30 as March 1. */
function isValidDay(day: string): boolean {
  const midnight = Date.parse(day);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}

/**
 * Returns the label of a value. Equal values of a field have equal labels; dates are equal when they are the same time.
 * Keys and strings are normalized to NFC and one line.
 */
export function fieldLabel(key: string, value: FieldValue): string {
  const date = typeof value === 'string' ? parseIsoDate(value) : null;
  const [kind, text] = date === null ? [typeof value, String(value)] : ['date', String(date)];
  return [key, kind, text].map((part) => collapseWhitespace(part)).join(SEPARATOR);
}

/** Returns the distinct labels of all values. */
export function fieldLabels(values: FieldValues): string[] {
  const labels = Object.entries(values).flatMap(([key, value]) => [value].flat().map((one) => fieldLabel(key, one)));
  return [...new Set(labels)];
}

/** Returns the column of a field's numbers or dates, named by a hash because keys may be any string. */
export function rangeColumn(key: string, kind: RangeKind): string {
  return `${kind}_${createHash('sha256').update(collapseWhitespace(key)).digest('hex').slice(0, 16)}`;
}

/** Returns numbers and dates by column. Lists have none. */
export function fieldRanges(values: FieldValues): Map<string, number> {
  const ranges = new Map<string, number>();
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === 'number') ranges.set(rangeColumn(key, 'number'), value);
    const date = typeof value === 'string' ? parseIsoDate(value) : null;
    if (date !== null) ranges.set(rangeColumn(key, 'date'), date);
  }
  return ranges;
}
