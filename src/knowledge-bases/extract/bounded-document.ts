import { truncateGraphemes } from '../../lib/truncate-graphemes.ts';
import type { DocumentMetadata, MetadataValue } from '../documents/metadata.ts';
import { MAX_HEADING_CHARACTERS, MAX_METADATA_TEXT_CHARACTERS } from './bounds.ts';
import type { ExtractedDocument } from './extracted-document.ts';
import type { Block } from './extracted-text.ts';

/** Characters of a title: it is shown with every result of a search. Few headlines have more than 200. */
const MAX_TITLE_CHARACTERS = 500;
/** Levels of headings. No path of headings has more names. */
const HEADING_LEVELS = 6;
/** Keys of metadata. 64 KiB, as much as is stored of a document, have room for 9,362 of one letter each. */
const MAX_KEYS = 10_000;
/** Characters of a key. Filters see those of 256. */
const MAX_KEY_CHARACTERS = 1_024;
/** Values of a list: as with keys, 64 KiB have room for half of them. Filters see lists of 256. */
const MAX_ITEMS = 65_536;

/**
 * A document as it leaves extraction, whatever its reader took out of it: all that is copied to its chunks and rows is bounded. Its text is
 * not touched.
 */
export function truncateDocument({ text, blocks, title, metadata, warnings }: ExtractedDocument): ExtractedDocument {
  return {
    text,
    blocks: blocks.map(boundedBlock),
    title: title === null ? null : truncateGraphemes(title, MAX_TITLE_CHARACTERS),
    metadata: boundedMetadata(metadata),
    ...(warnings && { warnings }),
  };
}

function boundedBlock(block: Block): Block {
  const { kind, start, end, level, ...place } = block;
  if (kind !== 'heading') return block;
  if (end - start > MAX_HEADING_CHARACTERS) return { kind: 'paragraph', start, end, ...place };
  const depth = Math.round(Math.min(Math.max(1, level || 1), HEADING_LEVELS));
  return { kind, start, end, level: depth, ...place };
}

function boundedMetadata(metadata: DocumentMetadata): DocumentMetadata {
  const entries = Object.entries(metadata).slice(0, MAX_KEYS);
  return Object.fromEntries(
    entries.map(([key, value]) => [truncateGraphemes(key, MAX_KEY_CHARACTERS), boundedField(value)]),
  );
}

function boundedField(value: MetadataValue | MetadataValue[]): MetadataValue | MetadataValue[] {
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS).map(boundedValue) : boundedValue(value);
}

function boundedValue(value: MetadataValue): MetadataValue {
  return typeof value === 'string' ? truncateGraphemes(value, MAX_METADATA_TEXT_CHARACTERS) : value;
}
