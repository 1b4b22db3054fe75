/** The process that reads documents. Started by `reader-process.ts`; asked for one document after the other. */
import { describeError } from '../../lib/operator-error.ts';
import { IngestionError } from '../jobs/job-error.ts';
import type { ReadPart } from './extracted-document.ts';
import { readDocument } from './read-document.ts';
import { runReaderLifecycle } from './reader-lifecycle.ts';
import type { ReaderError, ReaderReply, ReaderRequest } from './reader-protocol.ts';

let parts: AsyncGenerator<ReadPart> | null = null;

async function next(): Promise<ReaderReply> {
  if (parts === null) return { type: 'end' };
  const { done, value } = await parts.next();
  if (done === true) {
    parts = null;
    return { type: 'end' };
  }
  if ('error' in value) return { type: 'part', ...value, error: readerError(value.error) };
  return { type: 'part', ...value };
}

async function answer(request: ReaderRequest): Promise<ReaderReply> {
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
    return { type: 'failed', error: readerError(error) };
  }
}

/** Whatever a reader throws that is no error of ours comes from a document that is not what it should be. */
function readerError(error: unknown): ReaderError {
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : describeError(error);
  if (error instanceof IngestionError) {
    const { code, message, cause } = error;
    return { code, message, detail: cause === undefined ? null : describeError(cause) };
  }
  const isTooMuch = error instanceof RangeError && /allocation failed|string length|array length/i.test(error.message);
  if (isTooMuch) return { code: 'too_large', message: 'The document needs more memory than it may have.', detail };
  return {
    code: 'invalid_file',
    message: 'The file cannot be read: it is damaged, or not what its name says.',
    detail,
  };
}

runReaderLifecycle(answer);
