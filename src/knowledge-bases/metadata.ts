import { invalidValue } from '../errors.ts';
import type { Metadata } from './tables.ts';

/** Maximum bytes of metadata as JSON. */
const MAX_METADATA_BYTES = 65_536;

/**
 * Throws 400 naming `param` when the metadata is larger than 64 KiB or contains text that the database cannot store.
 */
export function checkMetadata(metadata: Metadata, param: string): Metadata {
  const json = JSON.stringify(metadata);
  if (Buffer.byteLength(json) > MAX_METADATA_BYTES) {
    throw invalidValue(param, `must have at most ${MAX_METADATA_BYTES} bytes as JSON`);
  }
  if (holdsNul(json)) throw invalidValue(param, 'must not contain NUL characters');
  return metadata;
}

/** An escaped backslash escapes nothing: `\\u0000` is six ordinary characters. */
function holdsNul(json: string): boolean {
  return json.replaceAll('\\\\', '').includes('\\u0000');
}

/** Merges `changes` into `metadata`. A null removes its key. */
export function mergeMetadata(metadata: Metadata, changes: Metadata): Metadata {
  return Object.fromEntries(Object.entries({ ...metadata, ...changes }).filter(([key]) => changes[key] !== null));
}
