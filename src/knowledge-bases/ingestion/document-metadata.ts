import { truncateGraphemes } from '../../lib/truncate-graphemes.ts';
import type { DocumentMetadata, MetadataValue, StoredMetadata } from '../documents/metadata.ts';

/** Bytes of a document's metadata as JSON: as many as callers may send anywhere. Every result of a search shows them. */
const MAX_STORED_BYTES = 65_536;
/** Of what does not fit any more, so many keys are named, each with so many characters at the most. */
const MAX_NAMED = 256;
const MAX_NAME_CHARACTERS = 256;
/** Characters of a key that is filtered by, and of a text: the index holds each with every chunk, and nobody asks for longer ones. */
const MAX_KEY_CHARACTERS = 256;
const MAX_TEXT_CHARACTERS = 4096;
/** Values of a list that is filtered by. */
const MAX_ITEMS = 256;

/** What is known of a document, in layers: an earlier one wins. What comes when 64 KiB are full is left out. */
export function storedMetadata(...layers: readonly DocumentMetadata[]): StoredMetadata {
  const known = new Set<string>();
  const stored = new Map<string, DocumentMetadata[string]>();
  const leftOut: string[] = [];
  let bytes = '{}'.length;
  for (const [key, value] of layers.flatMap((layer) => Object.entries(layer))) {
    if (known.has(key)) continue;
    known.add(key);
    const size = Buffer.byteLength(`${JSON.stringify(key)}:${JSON.stringify(value)},`);
    if (bytes + size <= MAX_STORED_BYTES) {
      stored.set(key, value);
      bytes += size;
    } else if (leftOut.length < MAX_NAMED) leftOut.push(truncateGraphemes(key, MAX_NAME_CHARACTERS));
  }
  return { metadata: Object.fromEntries(stored), leftOutKeys: leftOut };
}

/** The metadata of a document: what its source says of it wins over what it says of itself. */
export function withSourceMetadata(ofSource: DocumentMetadata, own: StoredMetadata): StoredMetadata {
  const { metadata, leftOutKeys } = storedMetadata(ofSource, own.metadata);
  const leftOut = new Set([...leftOutKeys, ...own.leftOutKeys]);
  return { metadata, leftOutKeys: [...leftOut.difference(new Set(Object.keys(metadata)))] };
}

/** Whether a field is short enough to filter by. */
export function isFilterable(key: string, value: unknown): boolean {
  const values = [value].flat() as MetadataValue[];
  const isShort = (one: MetadataValue) => typeof one !== 'string' || one.length <= MAX_TEXT_CHARACTERS;
  return key.length <= MAX_KEY_CHARACTERS && values.length <= MAX_ITEMS && values.every(isShort);
}
