/** Messages between the service and a reader process. One request is answered by one reply. */

import type { ExtractedDocument, FilePart, ReaderInput } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import type { JobErrorCode } from './ingestion-error.ts';

/** Opens a file and returns its first document; returns the next document; abandons the rest of the file. */
export type ReaderRequest =
  | { type: 'open'; format: DocumentFormat; input: ReaderInput }
  | { type: 'next' }
  | { type: 'close' };

/** An error in serializable form. `detail` is for the log; null when the message is complete. */
export interface ReaderError {
  code: JobErrorCode;
  message: string;
  detail: string | null;
}

/** A document or the error of one part; the error of the whole file; the end of the file. */
export type ReaderReply =
  | ({ type: 'part' } & FilePart & ({ document: ExtractedDocument } | { error: ReaderError }))
  | { type: 'failed'; error: ReaderError }
  | { type: 'end' };
