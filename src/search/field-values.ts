import { createHash } from 'node:crypto';

/** A value of a document's metadata that can be filtered by. */
export type FieldValue = string | number | boolean;

/** A document's metadata as far as it can be filtered by; a list is for a field that has several values. */
export type FieldValues = Readonly<Record<string, FieldValue | readonly FieldValue[]>>;

/** What ranges can be asked of: numbers, and points in time. */
export type RangeKind = 'number' | 'date';

/** A label ends where its value begins. Keys and values cannot have the sign: it is taken out of them. */
const SEPARATOR = '\u0001';

/** An ISO 8601 date, or date and time; without a zone it is in UTC. */
const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO date; null for any other text. */
export function dateOf(value: string): number | null {
  if (!ISO_DATE.test(value)) return null;
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(value.slice(10));
  const milliseconds = Date.parse(`${value.replace(' ', 'T')}${value.length > 10 && !hasZone ? 'Z' : ''}`);
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** The label of a value: equal values of a field have equal labels, and dates are equal when they are the same time. */
export function labelOf(key: string, value: FieldValue): string {
  const date = typeof value === 'string' ? dateOf(value) : null;
  const [kind, text] = date === null ? [typeof value, String(value)] : ['date', String(date)];
  return [key, kind, text].map((part) => part.replaceAll(SEPARATOR, '')).join(SEPARATOR);
}

/** The labels of all values, each once. */
export function labelsOf(values: FieldValues): string[] {
  const labels = Object.entries(values).flatMap(([key, value]) => [value].flat().map((one) => labelOf(key, one)));
  return [...new Set(labels)];
}

/** The column that holds a field's numbers or dates. Keys may be any text, so their hash names it. */
export function rangeColumnOf(key: string, kind: RangeKind): string {
  return `${kind}_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
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
