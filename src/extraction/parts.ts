import type { DocumentWarning } from './document-warning.ts';
import type { ExtractedText, Extraction, ReaderInput } from './extracted-document.ts';
import { type DocumentFormat, documentFormat, parseCharset } from './formats.ts';
import { IngestionError } from './ingestion-error.ts';
import { invalidFile, MAX_HEADING_CHARACTERS, tooLarge } from './limits.ts';
import type { TextWriter } from './text-writer.ts';

/** Maximum nesting, such as an archive in an archive in a mail. */
const MAX_DEPTH = 3;
/** Maximum parts of a file, at all depths together, and their maximum bytes (1 GiB). */
const MAX_PARTS = 20_000;
const MAX_BYTES = 1_073_741_824;
const HEADING_LEVELS = 6;
/** Reasons that a warning names. */
const MAX_NAMED = 5;

/** A file within a file. */
export interface NestedFile {
  name: string;
  mediaType: string | null;
  content: Uint8Array;
}

/** Yields the documents of a file. `parts` reads the files that it contains. */
export type ReadFile = (format: DocumentFormat, input: ReaderInput, parts: PartReader) => AsyncGenerator<Extraction>;

/**
 * Reads the files that a file contains, attachments of a mail or entries of an archive, by their own formats. Bounds
 * their nesting, number and size.
 */
export class PartReader {
  readonly #read: ReadFile;
  readonly #depth: number;
  /** Shared by all depths. */
  readonly #remaining: { parts: number; bytes: number };

  constructor(read: ReadFile, depth = 0, remaining = { parts: MAX_PARTS, bytes: MAX_BYTES }) {
    this.#read = read;
    this.#depth = depth;
    this.#remaining = remaining;
  }

  /** Counts parts before they are read. Returns `too_large` above the limits. */
  reserve(parts: number, bytes: number): IngestionError | null {
    this.#remaining.parts -= parts;
    this.#remaining.bytes -= bytes;
    if (this.#depth >= MAX_DEPTH) return tooLarge(`its files are nested more than ${MAX_DEPTH} levels deep`);
    if (this.#remaining.parts < 0) return tooLarge(`it contains more than ${MAX_PARTS.toLocaleString('en')} files`);
    if (this.#remaining.bytes >= 0) return null;
    return tooLarge(`the files that it contains have more than ${MAX_BYTES / 2 ** 30} GiB`);
  }

  /** Yields the documents of a part. Errors are errors of the part. */
  async *read({ name, mediaType, content }: NestedFile, container: ReaderInput): AsyncGenerator<Extraction> {
    const format = documentFormat(name, mediaType);
    if (format === null) return;
    const input = { ...container, content, bytes: content.length, charset: parseCharset(mediaType) };
    try {
      yield* this.#read(format, input, new PartReader(this.#read, this.#depth + 1, this.#remaining));
    } catch (error) {
      const damaged = () => invalidFile('The file is damaged or does not match its format.', error);
      yield { part: '', error: error instanceof IngestionError ? error : damaged() };
    }
  }

  /** Yields the documents of the whole file, read by another format than its name says. */
  readAs(format: DocumentFormat, input: ReaderInput): AsyncGenerator<Extraction> {
    return this.#read(format, input, this);
  }
}

/** Where a text is written within another. */
export interface SectionPlace {
  /** Levels by which its headings become deeper. */
  level: number;
  /** Whether its pages and cells are the same as in the written document. */
  keepsPlaces?: boolean;
}

/** Writes a text below a heading of the section's level. */
export function writeSection(
  writer: TextWriter,
  section: SectionPlace & { title: string },
  content: ExtractedText,
): void {
  const page = section.keepsPlaces ? content.blocks[0]?.page : undefined;
  const title = section.title.slice(0, MAX_HEADING_CHARACTERS);
  writer.write('heading', title, { level: section.level, ...(page !== undefined && { page }) });
  writeBlocks(writer, section, content);
}

/** Writes the blocks of a text. */
export function writeBlocks(writer: TextWriter, section: SectionPlace, { text, blocks }: ExtractedText): void {
  for (const { kind, start, end, level, page, cells, ...others } of blocks) {
    const deeper = level === undefined ? {} : { level: Math.min(level + section.level, HEADING_LEVELS) };
    const place = { ...(page !== undefined && { page }), ...(cells !== undefined && { cells }) };
    writer.write(kind, text.slice(start, end), { ...others, ...(section.keepsPlaces && place), ...deeper });
  }
}

/** A warning about parts that were not read, counted by `reasons`; none without any. */
export function describeSkipped(reasons: readonly string[], what: string): DocumentWarning[] {
  if (reasons.length === 0) return [];
  const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => ({ reason, length }));
  const most = counts.toSorted((a, b) => b.length - a.length).slice(0, MAX_NAMED);
  const list = most.map(({ reason, length }) => `${reason} (${length})`).join(', ');
  const more = counts.length > MAX_NAMED ? ', ...' : '';
  return [{ code: 'parts_skipped', message: `${what} that were not read (${reasons.length}): ${list}${more}.` }];
}
