/** Messages between the service and a reader process. */
import type { JobErrorCode } from '../jobs/job-error.ts';
import type { ExtractedDocument, FilePart, ReadJob } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';

/** What a reader is asked: to begin with a file and give its first document, to give the next, or to leave the rest. */
export type ReaderRequest =
  | { type: 'begin'; format: DocumentFormat; job: ReadJob }
  | { type: 'next' }
  | { type: 'leave' };

/** An error on its way out of the reader. `detail` is for the log; null where the message says it all. */
export interface ReaderError {
  code: JobErrorCode;
  message: string;
  detail: string | null;
}

/** What a reader answers: a document, an error of a part of the file or of all of it, or that there are no more. */
export type ReaderReply =
  | ({ type: 'part' } & FilePart & ({ document: ExtractedDocument } | { error: ReaderError }))
  | { type: 'failed'; error: ReaderError }
  | { type: 'end' };
