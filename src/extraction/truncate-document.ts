import { truncateGraphemes } from '../lib/truncate.ts';
import type { DocumentMetadata, MetadataValue } from './document-metadata.ts';
import type { Block, ExtractedDocument } from './extracted-document.ts';
import { MAX_HEADING_CHARACTERS, MAX_METADATA_TEXT_CHARACTERS } from './limits.ts';

/** Maximum characters of a title, which every search result repeats. Few titles exceed 200. */
const MAX_TITLE_CHARACTERS = 500;
const HEADING_LEVELS = 6;
/** Maximum metadata keys: the 64 KiB that are stored hold at most 9,362 one-letter keys. */
const MAX_KEYS = 10_000;
/** Maximum characters of a metadata key. Filters accept 256. */
const MAX_KEY_CHARACTERS = 1_024;
/** Maximum values of a metadata list, by the same 64 KiB. Filters accept 256. */
const MAX_ITEMS = 65_536;

/** Bounds everything that is copied to chunks and rows: title, headings, metadata. The text stays unchanged. */
export function truncateDocument({ blocks, title, metadata, ...document }: ExtractedDocument): ExtractedDocument {
  return {
    ...document,
    blocks: blocks.map(limitHeading),
    title: title === null ? null : truncateGraphemes(title, MAX_TITLE_CHARACTERS),
    metadata: truncateMetadata(metadata),
  };
}

function limitHeading(block: Block): Block {
  const { kind, start, end, level, ...place } = block;
  if (kind !== 'heading') return block;
  if (end - start > MAX_HEADING_CHARACTERS) return { kind: 'paragraph', start, end, ...place };
  const depth = Math.round(Math.min(Math.max(1, level || 1), HEADING_LEVELS));
  return { kind, start, end, level: depth, ...place };
}

function truncateMetadata(metadata: DocumentMetadata): DocumentMetadata {
  const entries = Object.entries(metadata).slice(0, MAX_KEYS);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      truncateGraphemes(key, MAX_KEY_CHARACTERS),
      Array.isArray(value) ? value.slice(0, MAX_ITEMS).map(truncateValue) : truncateValue(value),
    ]),
  );
}

function truncateValue(value: MetadataValue): MetadataValue {
  return typeof value === 'string' ? truncateGraphemes(value, MAX_METADATA_TEXT_CHARACTERS) : value;
}
