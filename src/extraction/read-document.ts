import { truncateGraphemes } from '../lib/truncate.ts';
import type { DocumentMetadata, MetadataValue } from './document-metadata.ts';
import type { Block, ExtractedDocument, Extraction, ReaderInput } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import { MAX_HEADING_CHARACTERS, MAX_METADATA_TEXT_CHARACTERS, noText } from './limits.ts';
import { PartReader } from './parts.ts';

/** Maximum characters of a title, which every search result repeats. Few titles exceed 200. */
const MAX_TITLE_CHARACTERS = 500;
const HEADING_LEVELS = 6;
/** Maximum metadata keys: the 64 KiB that are stored hold at most 9,362 one-letter keys. */
const MAX_KEYS = 10_000;
/** Maximum characters of a metadata key. Filters accept 256. */
const MAX_KEY_CHARACTERS = 1_024;
/** Maximum values of a metadata list, by the same 64 KiB. Filters accept 256. */
const MAX_ITEMS = 65_536;

type Reader = (input: ReaderInput, parts: PartReader) => AsyncGenerator<Extraction>;

/** Readers by format, imported when first needed. */
const READERS: Readonly<Record<DocumentFormat, () => Promise<Reader>>> = {
  pdf: async () => (await import('./pdf/read-pdf.ts')).readPdf,
  docx: async () => (await import('./docx/read-docx.ts')).readDocx,
  html: async () => (await import('./html/read-html.ts')).readHtml,
  markdown: async () => (await import('./read-markdown.ts')).readMarkdown,
  csv: async () => (await import('./sheets/read-csv.ts')).readCsv,
  xlsx: async () => (await import('./sheets/read-xlsx.ts')).readXlsx,
  ods: async () => (await import('./sheets/read-ods.ts')).readOds,
  pptx: async () => (await import('./slides/read-pptx.ts')).readPptx,
  odp: async () => (await import('./slides/read-odp.ts')).readOdp,
  image: async () => (await import('./pdf/ocr/read-image.ts')).readImage,
  text: async () => (await import('./read-text.ts')).readPlainText,
  jsonl: async () => (await import('./read-jsonl.ts')).readJsonl,
  json: async () => (await import('./read-json.ts')).readJson,
  odt: async () => (await import('./odt/read-odt.ts')).readOdt,
  rtf: async () => (await import('./rtf/read-rtf.ts')).readRtf,
  epub: async () => (await import('./epub/read-epub.ts')).readEpub,
  eml: async () => (await import('./mail/read-eml.ts')).readEml,
  msg: async () => (await import('./mail/read-msg.ts')).readMsg,
  zip: async () => (await import('./read-zip.ts')).readZip,
};

/** Checks by format; files of other formats can always be read. */
const CHECKS: Partial<Record<DocumentFormat, () => Promise<(input: ReaderInput) => Promise<void>>>> = {
  pdf: async () => (await import('./pdf/read-pdf.ts')).checkPdf,
  docx: async () => (await import('./docx/read-docx.ts')).checkDocx,
  xlsx: async () => (await import('./sheets/read-xlsx.ts')).checkXlsx,
  ods: async () => (await import('./sheets/read-ods.ts')).checkOds,
  pptx: async () => (await import('./slides/read-pptx.ts')).checkPptx,
  odp: async () => (await import('./slides/read-odp.ts')).checkOdp,
  image: async () => (await import('./pdf/ocr/read-image.ts')).checkImage,
  odt: async () => (await import('./odt/read-odt.ts')).checkOdt,
  epub: async () => (await import('./epub/read-epub.ts')).checkEpub,
  msg: async () => (await import('./mail/read-msg.ts')).checkMsg,
  zip: async () => (await import('./read-zip.ts')).checkZip,
};

/**
 * Yields the documents of a file, at least one; a part without text yields an error for that part. Throws an
 * `IngestionError` for errors of the whole file, and any error of a parser on a damaged one. A check yields nothing,
 * and throws only errors that reading would.
 */
export async function* readDocument(
  format: DocumentFormat,
  input: ReaderInput,
  parts = new PartReader(readDocument),
): AsyncGenerator<Extraction> {
  if (input.isCheck) return (await CHECKS[format]?.())?.(input);
  const read = await READERS[format]();
  let isEmpty = true;
  for await (const extraction of read(input, parts)) {
    isEmpty = false;
    yield limitExtraction(extraction);
  }
  if (isEmpty) yield { part: '', error: noText() };
}

function limitExtraction(extraction: Extraction): Extraction {
  if ('error' in extraction) return extraction;
  const { document, ...place } = extraction;
  // A search, because `trim` would copy a long text to find out whether it is blank.
  return /\S/.test(document.text) ? { ...place, document: truncateDocument(document) } : { ...place, error: noText() };
}

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
