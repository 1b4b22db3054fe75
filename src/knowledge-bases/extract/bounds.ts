import { IngestionError } from '../jobs/job-error.ts';

/** Bytes of a file: as many as an upload may have. */
export const MAX_FILE_BYTES = 536_870_912;
/** Bytes of a format that is read in one piece, decoded and parsed: pages and texts that people write have far fewer. */
export const MAX_WHOLE_TEXT_BYTES = 67_108_864;
/** Bytes of a PDF, which is held in memory while it is read. */
export const MAX_PDF_BYTES = 268_435_456;
/** Characters of a document's text: some 4,000 printed pages. What comes after extraction holds all of it in memory. */
export const MAX_TEXT_CHARACTERS = 10_000_000;
/** Characters of a heading: a longer line announces nothing. It is a paragraph, and cut into chunks as one. */
export const MAX_HEADING_CHARACTERS = 1_000;
/** Characters of a text of metadata. What is longer is cut: it is a text of its own, and shown with every result of a search. */
export const MAX_METADATA_TEXT_CHARACTERS = 16_384;
/** Pages of a PDF. */
export const MAX_PAGES = 5_000;
/** Seconds for a document, or for the next one of a file that holds many: on a busy machine, 600 pages took 8. */
export const DOCUMENT_SECONDS = 300;
/** Megabytes of a reader's JavaScript heap. */
export const READER_HEAP_MB = 512;
/**
 * Megabytes of each half of the part of that heap where objects begin. Three threads that read 1,500 pages with little of it took 260 MB
 * instead of 307, and no longer.
 */
export const READER_YOUNG_HEAP_MB = 8;
/** Megabytes of a reader outside of its heap: a PDF as it lies, and what is unpacked of it. */
export const READER_BUFFER_MB = 768;

/** The error of a document that is larger than a bound. `what` ends a sentence: `more than 5,000 pages`. */
export function tooLarge(what: string): IngestionError {
  return new IngestionError('too_large', `The document is too large to be read: ${what}.`);
}

/** The error of a file that is not what its format says, or damaged. */
export function invalidFile(message: string, cause?: unknown): IngestionError {
  return new IngestionError('invalid_file', message, cause);
}

/** The error of a document in which no text is. */
export function noText(message = 'The document has no text.'): IngestionError {
  return new IngestionError('no_text', message);
}
