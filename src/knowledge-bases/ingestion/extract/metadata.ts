import { inOneLine } from '../../../lib/clean-text.ts';
import type { DocumentMetadata } from './extracted-document.ts';

/** Keys of a document. A quarter as many filter in a whole knowledge base; the rest is shown. */
const MAX_KEYS = 1024;
/** Nesting that is made flat; what lies deeper is kept as JSON. */
const MAX_DEPTH = 4;
/** Characters of a value. What is longer is text, and no metadata. */
const MAX_VALUE_CHARACTERS = 4096;
/** Characters of a key. */
const MAX_KEY_CHARACTERS = 256;
/** Items of a list. */
const MAX_ITEMS = 256;

/**
 * A document's fields as what filters can look at: nested objects become keys with dots, lists hold texts, dates are ISO 8601.
 * Empty values are left out, and what is too long or too much to be metadata.
 */
export function flatMetadata(fields: unknown): DocumentMetadata {
  const flat = new Map<string, DocumentMetadata[string]>();
  if (typeof fields === 'object' && fields !== null) addFields(flat, '', fields, 1);
  return Object.fromEntries(flat);
}

function addFields(flat: Map<string, DocumentMetadata[string]>, prefix: string, fields: object, depth: number): void {
  for (const [name, value] of Object.entries(fields)) {
    const key = inOneLine(prefix + name);
    if (flat.size >= MAX_KEYS || key === '' || key.length > MAX_KEY_CHARACTERS) continue;
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
    if (isNested && depth < MAX_DEPTH) {
      addFields(flat, `${key}.`, value, depth + 1);
      continue;
    }
    const kept = filterable(value);
    if (kept !== null) flat.set(key, kept);
  }
}

function filterable(value: unknown): DocumentMetadata[string] | null {
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => textOf(item));
    const kept = items.filter((item) => item !== null);
    return kept.length === 0 ? null : kept;
  }
  if (typeof value === 'boolean' || Number.isFinite(value)) return value as boolean | number;
  return textOf(value);
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? null : value.toISOString();
  const text = inOneLine(typeof value === 'object' ? (JSON.stringify(value) ?? '') : String(value));
  return text === '' || text.length > MAX_VALUE_CHARACTERS ? null : text;
}

/** A title as people wrote it: in one line, null where there is none. */
export function titleOf(value: unknown): string | null {
  return typeof value === 'string' ? textOf(value) : null;
}
