/** Messages between the service and a reader process. One request is answered by one reply, after any progress. */

import type { ExtractedDocument, FilePart, ReaderInput } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import type { JobErrorCode } from './ingestion-error.ts';
import type { PageImage, PageRequest } from './pdf/render-page.ts';

/**
 * Opens a file and returns its first document; returns the next document; abandons the rest of the file; renders a page
 * of a PDF or of an image.
 */
export type ReaderRequest =
  | { type: 'open'; format: DocumentFormat; input: ReaderInput }
  | { type: 'next' }
  | { type: 'close' }
  | { type: 'render'; input: PageInput; page: PageRequest };

/** A file and the page to render. */
export type PageInput = Pick<ReaderInput, 'content' | 'bytes'>;

/** An error in serializable form. `detail` is for the log; null when the message is complete. */
export interface ReaderError {
  code: JobErrorCode;
  message: string;
  detail: string | null;
}

/** A document or the error of one part; a page; the error of the whole file; the end of the file. */
export type ReaderReply =
  | ({ type: 'part' } & FilePart & ({ document: ExtractedDocument } | { error: ReaderError }))
  | { type: 'page'; image: PageImage }
  | { type: 'failed'; error: ReaderError }
  | { type: 'end' };

/** Pages of the document that were read by OCR, of those to read. */
export interface ReaderProgress {
  type: 'progress';
  read: number;
  pages: number;
}
