import { collapseWhitespace } from '../lib/clean-text.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
import type { DocumentMetadata, MetadataValue } from './document-metadata.ts';
import { MAX_METADATA_TEXT_CHARACTERS } from './limits.ts';

/** Maximum nesting that is flattened; deeper values are stored as JSON. */
const MAX_DEPTH = 4;

/**
 * Converts a document's fields to filterable metadata: nested objects become dotted keys, dates become ISO 8601, keys
 * and strings are normalized to one line, nulls are dropped.
 */
export function flattenMetadata(fields: unknown): DocumentMetadata {
  const flat = new Map<string, DocumentMetadata[string]>();
  if (typeof fields === 'object' && fields !== null) addFields(flat, '', fields, 1);
  return Object.fromEntries(flat);
}

function addFields(flat: Map<string, DocumentMetadata[string]>, prefix: string, fields: object, depth: number): void {
  for (const [name, value] of Object.entries(fields)) {
    const key = collapseWhitespace(prefix + name);
    if (isObject(value) && depth < MAX_DEPTH) {
      addFields(flat, `${key}.`, value, depth + 1);
      continue;
    }
    const flatValue = Array.isArray(value)
      ? value.map(toMetadataValue).filter((item) => item !== null)
      : toMetadataValue(value);
    if (flatValue !== null) flat.set(key, flatValue);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function toMetadataValue(value: unknown): MetadataValue | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean' || Number.isFinite(value)) return value as boolean | number;
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? null : value.toISOString();
  const text = typeof value === 'object' ? (JSON.stringify(value) ?? '') : String(value);
  return collapseWhitespace(truncateGraphemes(text, MAX_METADATA_TEXT_CHARACTERS));
}

/** Normalizes a title to one line; null when it is blank or not a string. */
export function normalizeTitle(value: unknown): string | null {
  return typeof value === 'string' ? (toMetadataValue(value) as string) || null : null;
}
