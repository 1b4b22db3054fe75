/** The thread that reads documents. Started by `extraction-thread.ts`; asked for one document after the other. */
import { parentPort } from 'node:worker_threads';
import { IngestionError, type JobErrorCode } from '../job-error.ts';
import type { ExtractedDocument, FilePart, ReadJob, ReadPart } from './extracted-document.ts';
import type { DocumentFormat } from './formats.ts';
import { readDocument } from './read-document.ts';

/** What the thread is asked: to begin with a file and give its first document, to give the next, or to leave the rest. */
export type ThreadRequest =
  | { type: 'begin'; format: DocumentFormat; job: ReadJob }
  | { type: 'next' }
  | { type: 'leave' };

/** An error on its way out of the thread. `detail` is for the log; null where the message says it all. */
export interface ThreadError {
  code: JobErrorCode;
  message: string;
  detail: string | null;
}

/** What the thread answers: a document, an error of a part of the file or of all of it, or that there are no more. */
export type ThreadReply =
  | ({ type: 'part' } & FilePart & ({ document: ExtractedDocument } | { error: ThreadError }))
  | { type: 'failed'; error: ThreadError }
  | { type: 'end' };

let parts: AsyncGenerator<ReadPart> | null = null;

async function next(): Promise<ThreadReply> {
  if (parts === null) return { type: 'end' };
  const { done, value } = await parts.next();
  if (done === true) {
    parts = null;
    return { type: 'end' };
  }
  if ('error' in value) return { type: 'part', ...value, error: threadError(value.error) };
  return { type: 'part', ...value };
}

async function answer(request: ThreadRequest): Promise<ThreadReply> {
  try {
    if (request.type === 'leave') {
      await parts?.return(undefined);
      parts = null;
      return { type: 'end' };
    }
    if (request.type === 'begin') parts = readDocument(request.format, request.job);
    return await next();
  } catch (error) {
    parts = null;
    return { type: 'failed', error: threadError(error) };
  }
}

/** Whatever a reader throws that is no error of ours comes from a document that is not what it should be. */
function threadError(error: unknown): ThreadError {
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof IngestionError) {
    const { code, message, cause } = error;
    return { code, message, detail: cause === undefined ? null : String(cause) };
  }
  const isTooMuch = error instanceof RangeError && /allocation failed|string length|array length/i.test(error.message);
  if (isTooMuch) return { code: 'too_large', message: 'The document needs more memory than it may have.', detail };
  return {
    code: 'invalid_file',
    message: 'The file cannot be read: it is damaged, or not what its name says.',
    detail,
  };
}

parentPort?.on('message', async (request: ThreadRequest) => parentPort?.postMessage(await answer(request)));
