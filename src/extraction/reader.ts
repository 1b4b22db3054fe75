/** Entry point of a reader process, started by `reader-process.ts`. Extracts one document at a time. */
import { describeError } from '../lib/operator-error.ts';
import type { Extraction } from './extracted-document.ts';
import { IngestionError } from './ingestion-error.ts';
import { readDocument } from './read-document.ts';
import { runReader } from './reader-loop.ts';
import type { ReaderError, ReaderProgress, ReaderReply, ReaderRequest } from './reader-protocol.ts';

let documents: AsyncGenerator<Extraction> | null = null;

async function answer(request: ReaderRequest): Promise<ReaderReply> {
  try {
    if (request.type === 'render') {
      const { renderPage } = await import('./pdf/render-page.ts');
      return { type: 'page', image: await renderPage(request.input, request.page) };
    }
    if (request.type === 'open') documents = readDocument(request.format, { ...request.input, onPage });
    if (request.type === 'close') await documents?.return(undefined);
    const next = await documents?.next();
    if (next === undefined || next.done === true) return { type: 'end' };
    if ('error' in next.value) return { type: 'part', ...next.value, error: toReaderError(next.value.error) };
    return { type: 'part', ...next.value };
  } catch (error) {
    documents = null;
    return { type: 'failed', error: toReaderError(error) };
  }
}

/** Tells the service that the document makes progress, which restarts its time limit. */
function onPage(read: number, pages: number): void {
  const progress: ReaderProgress = { type: 'progress', read, pages };
  process.send?.(progress);
}

/** Converts an error. Errors other than `IngestionError` mean that a parser failed on a damaged file. */
function toReaderError(error: unknown): ReaderError {
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : describeError(error);
  if (error instanceof IngestionError) {
    const { code, message, cause } = error;
    return { code, message, detail: cause === undefined ? null : describeError(cause) };
  }
  const isTooLarge = error instanceof RangeError && /allocation failed|string length|array length/i.test(error.message);
  if (isTooLarge) return { code: 'too_large', message: 'The document needs more memory than its limit.', detail };
  return { code: 'invalid_file', message: 'The file is damaged or does not match its format.', detail };
}

runReader(answer);
