import { posix } from 'node:path';
import type { Extraction, FilePart, ReaderInput } from './extracted-document.ts';
import { type DocumentFormat, documentFormat } from './formats.ts';
import { IngestionError } from './ingestion-error.ts';
import { Archive } from './office/archive.ts';
import { describeSkipped, type PartReader, writeSection } from './parts.ts';
import { TextWriter } from './text-writer.ts';

/** Formats of archives that are documents, by a part that only they have. */
const DOCUMENT_PARTS: readonly [part: string, format: DocumentFormat][] = [
  ['word/document.xml', 'docx'],
  ['xl/workbook.xml', 'xlsx'],
  ['ppt/presentation.xml', 'pptx'],
  ['META-INF/container.xml', 'epub'],
];
/** Maximum bytes of the part that names the media type of OpenDocument files. */
const MAX_TYPE_BYTES = 256;

/**
 * Reads a ZIP archive: each file in it is a document below the heading of its path, and its part is that path. An
 * archive that is itself a document, such as an EPUB, is read as that. Skips folders, hidden files, and files of other
 * formats, which the first document has a warning about.
 */
export async function* readZip(input: ReaderInput, parts: PartReader): AsyncGenerator<Extraction> {
  const archive = await Archive.open(input);
  try {
    const format = await detectDocument(archive);
    if (format === null) yield* readEntries(archive, input, parts);
    else yield* parts.readAs(format, input);
  } finally {
    archive.close();
  }
}

/** Throws `invalid_file` for damaged archives, `unsupported_file` for those without a readable file. */
export async function checkZip(input: ReaderInput): Promise<void> {
  const archive = await Archive.open(input);
  try {
    if ((await detectDocument(archive)) === null) listEntries(archive);
  } finally {
    archive.close();
  }
}

async function detectDocument(archive: Archive): Promise<DocumentFormat | null> {
  const named = DOCUMENT_PARTS.find(([part]) => archive.has(part));
  if (named !== undefined) return named[1];
  const type = archive.listParts().find(({ name, bytes }) => name === 'mimetype' && bytes <= MAX_TYPE_BYTES);
  return type === undefined ? null : documentFormat('', (await archive.readWhole('mimetype')).toString().trim());
}

async function* readEntries(archive: Archive, input: ReaderInput, parts: PartReader): AsyncGenerator<Extraction> {
  const { entries, warnings } = listEntries(archive);
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  // Entries have at most the bytes that they declare, so an archive above the limit is rejected before it is read.
  const error = parts.reserve(entries.length, bytes);
  if (error !== null) throw error;
  let pending = warnings;
  for (const { name, path } of entries) {
    for await (const extraction of readEntry(archive, { name, path }, input, parts)) {
      const part: FilePart = { part: posix.join(path, extraction.part), bytes: extraction.bytes ?? 0 };
      if ('error' in extraction) {
        yield { ...part, error: extraction.error };
        continue;
      }
      const writer = new TextWriter();
      writeSection(writer, { title: path, level: 1, keepsPlaces: true }, extraction.document);
      const all = [...pending, ...(extraction.document.warnings ?? [])];
      pending = [];
      yield {
        ...part,
        document: { ...extraction.document, ...writer.finish(), ...(all.length > 0 && { warnings: all }) },
      };
    }
  }
}

async function* readEntry(
  archive: Archive,
  { name, path }: { name: string; path: string },
  input: ReaderInput,
  parts: PartReader,
): AsyncGenerator<Extraction> {
  try {
    const content = await archive.readWhole(name);
    for await (const extraction of parts.read({ name: path, mediaType: null, content }, input))
      yield { bytes: content.length, ...extraction };
  } catch (error) {
    if (!(error instanceof IngestionError)) throw error;
    yield { part: '', error };
  }
}

/** Entries of supported formats by their path without `..`, and a warning about the others. */
function listEntries(archive: Archive) {
  const paths = new Set<string>();
  const skipped: string[] = [];
  const entries = archive.listParts().flatMap(({ name, bytes }) => {
    const path = posix.join('/', name).slice(1);
    const isHidden = /(?:^|\/)(?:\.|__MACOSX\/|~\$)/.test(path);
    if (isHidden || path === '' || path.endsWith('/') || paths.has(path)) return [];
    paths.add(path);
    if (documentFormat(path, null) !== null) return [{ name, path, bytes }];
    skipped.push(posix.extname(path) || 'no extension');
    return [];
  });
  const warnings = describeSkipped(skipped, 'Files of the archive');
  if (entries.length === 0) {
    const message = 'The archive contains no file of a supported format.';
    throw new IngestionError('unsupported_file', message);
  }
  return { entries, warnings };
}
