import type { DocumentMetadata, MetadataValue } from '../../extraction/document-metadata.ts';
import { truncateGraphemes } from '../../lib/truncate.ts';
import type { StoredMetadata } from '../documents/metadata.ts';

/** Maximum bytes of a document's metadata as JSON, as for metadata of callers. Every search result repeats it. */
const MAX_STORED_BYTES = 65_536;
/** Maximum reported keys that were not stored, and characters of each. */
const MAX_REPORTED_KEYS = 256;
const MAX_REPORTED_CHARACTERS = 256;
/** Maximum characters of a filterable key and string: the index holds each with every chunk. */
const MAX_KEY_CHARACTERS = 256;
const MAX_TEXT_CHARACTERS = 4096;
/** Maximum values of a filterable list. */
const MAX_ITEMS = 256;

/** Merges layers of metadata; earlier layers win. Omits what exceeds 64 KiB. */
export function mergeMetadataLayers(...layers: readonly DocumentMetadata[]): StoredMetadata {
  const seen = new Set<string>();
  const stored = new Map<string, DocumentMetadata[string]>();
  const omitted: string[] = [];
  let bytes = '{}'.length;
  for (const [key, value] of layers.flatMap((layer) => Object.entries(layer))) {
    if (seen.has(key)) continue;
    seen.add(key);
    const size = Buffer.byteLength(`${JSON.stringify(key)}:${JSON.stringify(value)},`);
    if (bytes + size <= MAX_STORED_BYTES) {
      stored.set(key, value);
      bytes += size;
    } else if (omitted.length < MAX_REPORTED_KEYS) omitted.push(truncateGraphemes(key, MAX_REPORTED_CHARACTERS));
  }
  return { metadata: Object.fromEntries(stored), leftOutKeys: omitted };
}

/** Merges the metadata of a data source's config, which wins, with a document's own. */
export function applySourceMetadata(source: DocumentMetadata, own: StoredMetadata): StoredMetadata {
  const { metadata, leftOutKeys } = mergeMetadataLayers(source, own.metadata);
  const omitted = new Set([...leftOutKeys, ...own.leftOutKeys]);
  return { metadata, leftOutKeys: [...omitted.difference(new Set(Object.keys(metadata)))] };
}

/** Whether a field is short enough to filter by. */
export function isFilterable(key: string, value: unknown): boolean {
  const values = [value].flat() as MetadataValue[];
  const isShort = (one: MetadataValue) => typeof one !== 'string' || one.length <= MAX_TEXT_CHARACTERS;
  return key.length <= MAX_KEY_CHARACTERS && values.length <= MAX_ITEMS && values.every(isShort);
}
