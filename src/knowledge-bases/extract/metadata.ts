import { inOneLine } from '../../lib/clean-text.ts';
import { truncateGraphemes } from '../../lib/truncate-graphemes.ts';
import type { DocumentMetadata, MetadataValue } from '../documents/metadata.ts';
import { MAX_METADATA_TEXT_CHARACTERS } from './bounds.ts';

/** Nesting that is made flat; what lies deeper is kept as JSON. */
const MAX_DEPTH = 4;

/**
 * A document's fields as what filters can look at: nested objects become keys with dots, dates are ISO 8601, keys and texts are in one
 * line. Nulls say nothing, and are left out.
 */
export function flatMetadata(fields: unknown): DocumentMetadata {
  const flat = new Map<string, DocumentMetadata[string]>();
  if (typeof fields === 'object' && fields !== null) addFields(flat, '', fields, 1);
  return Object.fromEntries(flat);
}

function addFields(flat: Map<string, DocumentMetadata[string]>, prefix: string, fields: object, depth: number): void {
  for (const [name, value] of Object.entries(fields)) {
    const key = inOneLine(prefix + name);
    if (isObject(value) && depth < MAX_DEPTH) {
      addFields(flat, `${key}.`, value, depth + 1);
      continue;
    }
    const kept = Array.isArray(value) ? value.map(plainValue).filter((item) => item !== null) : plainValue(value);
    if (kept !== null) flat.set(key, kept);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function plainValue(value: unknown): MetadataValue | null {
  if (typeof value === 'boolean' || Number.isFinite(value)) return value as boolean | number;
  return textOf(value);
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? null : value.toISOString();
  const text = typeof value === 'object' ? (JSON.stringify(value) ?? '') : String(value);
  return inOneLine(truncateGraphemes(text, MAX_METADATA_TEXT_CHARACTERS));
}

/** A title as people wrote it: in one line, null where there is none. */
export function titleOf(value: unknown): string | null {
  return (typeof value === 'string' ? textOf(value) : null) || null;
}
