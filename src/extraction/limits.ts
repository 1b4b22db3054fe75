import { IngestionError } from './ingestion-error.ts';

/** Maximum bytes of a file: 512 MiB. */
export const MAX_FILE_BYTES = 536_870_912;
/** Maximum bytes of a file that is decoded and parsed as one string (HTML, Markdown, plain text). */
export const MAX_WHOLE_TEXT_BYTES = 67_108_864;
/** Maximum bytes of a PDF, which stays in memory while it is read. */
export const MAX_PDF_BYTES = 268_435_456;
/** Maximum characters of a document's text, about 4,000 printed pages. Later stages hold the whole text in memory. */
export const MAX_TEXT_CHARACTERS = 10_000_000;
/** Maximum characters of a heading. A longer line becomes a paragraph and is chunked as one. */
export const MAX_HEADING_CHARACTERS = 1_000;
/** Maximum characters of a metadata string. Longer ones are truncated, because every search result repeats them. */
export const MAX_METADATA_TEXT_CHARACTERS = 16_384;
/** Maximum pages of a PDF. */
export const MAX_PAGES = 5_000;
/** Time limit for a document, or the next document of a file with many. 600 pages took 8 s on a busy machine. */
export const DOCUMENT_SECONDS = 300;
/** JavaScript heap limit of a reader process. */
export const READER_HEAP_MB = 512;
/** Size of each young-generation semi-space: three readers of 1,500 pages took 260 MB instead of 307, and no longer. */
export const READER_YOUNG_HEAP_MB = 8;
/** Memory limit of a reader process outside the heap: the bytes of a PDF and its decompressed streams. */
export const READER_BUFFER_MB = 768;

/** Error for a document above a limit. `reason` completes a sentence: `more than 5,000 pages`. */
export function tooLarge(reason: string): IngestionError {
  return new IngestionError('too_large', `The document is too large: ${reason}.`);
}

/** Error for a damaged file, or one whose content does not match its format. */
export function invalidFile(message: string, cause?: unknown): IngestionError {
  return new IngestionError('invalid_file', message, cause);
}

/** Error for a page that a document of `pages` pages does not have. */
export function noPage(pages: number): IngestionError {
  return new IngestionError('not_found', `The document has ${pages} pages.`);
}

/** Error for a document without text. */
export function noText(message = 'The document has no text.'): IngestionError {
  return new IngestionError('no_text', message);
}
