import { createHash } from 'node:crypto';
import { collapseWhitespace } from '../lib/clean-text.ts';

/** A value of a document's metadata that can be filtered by. */
export type FieldValue = string | number | boolean;

/** A document's metadata as far as it can be filtered by; a list is for a field that has several values. */
export type FieldValues = Readonly<Record<string, FieldValue | readonly FieldValue[]>>;

/** What ranges can be asked of: numbers, and points in time. */
export type RangeKind = 'number' | 'date';

/** A label ends where its value begins. Keys and values cannot have the sign: `collapseWhitespace` takes it out of them. */
const SEPARATOR = '\u0001';

/** An ISO 8601 date, or date and time; without a zone it is in UTC. */
const ISO_DATE = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO date; null for any other text, also for a day that no month has. */
export function dateOf(value: string): number | null {
  const text = value.trim();
  const day = ISO_DATE.exec(text)?.[1];
  if (day === undefined || !isDay(day)) return null;
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text.slice(10));
  const milliseconds = Date.parse(`${text.replace(' ', 'T')}${text.length > 10 && !hasZone ? 'Z' : ''}`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** `Date` takes the 30th of February for the first of March. */
function isDay(day: string): boolean {
  const midnight = Date.parse(day);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}

/**
 * The label of a value: equal values of a field have equal labels, and dates are equal when they are the same time. Keys and texts are
 * compared in one line and in NFC, so that who types one finds it, however its document writes it.
 */
export function labelOf(key: string, value: FieldValue): string {
  const date = typeof value === 'string' ? dateOf(value) : null;
  const [kind, text] = date === null ? [typeof value, String(value)] : ['date', String(date)];
  return [key, kind, text].map((part) => collapseWhitespace(part)).join(SEPARATOR);
}

/** The labels of all values, each once. */
export function labelsOf(values: FieldValues): string[] {
  const labels = Object.entries(values).flatMap(([key, value]) => [value].flat().map((one) => labelOf(key, one)));
  return [...new Set(labels)];
}

/** The column that holds a field's numbers or dates. Keys may be any text, so their hash names it. */
export function rangeColumnOf(key: string, kind: RangeKind): string {
  return `${kind}_${createHash('sha256').update(collapseWhitespace(key)).digest('hex').slice(0, 16)}`;
}

/** What ranges are asked of, by column. A field with several values has none: no order is true of them all. */
export function rangesOf(values: FieldValues): Map<string, number> {
  const ranges = new Map<string, number>();
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === 'number') ranges.set(rangeColumnOf(key, 'number'), value);
    const date = typeof value === 'string' ? dateOf(value) : null;
    if (date !== null) ranges.set(rangeColumnOf(key, 'date'), date);
  }
  return ranges;
}
