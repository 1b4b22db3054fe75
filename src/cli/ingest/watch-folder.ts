import { OperatorError } from '../../lib/operator-error.ts';
import { pause, retry } from '../../lib/retry.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';
import type { StatusLine } from '../status-line.ts';
import { findDocuments } from './find-documents.ts';
import { type IngestRequest, type IngestResult, ingestFolder } from './ingest-folder.ts';
import { fileStamp } from './local-content.ts';

/**
 * Time between two looks at the folder, and that for which it must not change before it is ingested: a program may
 * still be writing. `fs.watch` is no help on Linux: it loses the changes of a file that was replaced by a rename, as
 * most editors do, and sees none of network drives and mounts of containers.
 */
const LOOK_MS = 2_000;
/** Looks take at most this share of the time. */
const MAX_LOOK_SHARE = 0.02;
/** A folder that never stops changing is ingested after this time. */
const MAX_UNSETTLED_MS = 60_000;
/** Waits between attempts; the last one repeats until the service responds. */
const RETRY_DELAYS_MS = [1_000, 2_000, 5_000, 10_000, 30_000];
/** Statuses below 500 after which another attempt may succeed. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 429]);

/** What a watch reports. */
export interface WatchOutput {
  line: StatusLine;
  /** Called after each ingestion. */
  onIngested(result: IngestResult): void;
}

/**
 * Ingests a folder, and again after each change, until the signal aborts: throws its reason then. Waits for a service
 * that does not respond and for a folder that is missing or empty; nothing is deleted meanwhile. Throws other errors of
 * the service, such as a rejected key.
 */
export async function watchFolder(
  api: ApiClient,
  request: IngestRequest,
  { line, onIngested }: WatchOutput,
  signal: AbortSignal,
): Promise<never> {
  let state = await readState(request.path);
  for (let isUpdate = false; ; isUpdate = true) {
    const result = await ingestPatiently(api, { ...request, isUpdate }, line, signal);
    onIngested(result);
    if (!isUpdate) line.printLine('Watching for changes. Press Ctrl-C to stop.');
    state = await waitForChange(request.path, state, signal);
  }
}

/** Ingests the folder, with retries. Prints each reason for a wait once. */
function ingestPatiently(
  api: ApiClient,
  request: IngestRequest,
  line: StatusLine,
  signal: AbortSignal,
): Promise<IngestResult> {
  let printed = '';
  return retry(() => ingestFolder(api, request, line, signal), {
    delaysMs: RETRY_DELAYS_MS,
    budgetMs: Number.POSITIVE_INFINITY,
    isPassing: (error) =>
      error instanceof HttpStatusError
        ? error.status >= 500 || PASSING_STATUSES.has(error.status)
        : error instanceof OperatorError,
    onRetry: (error) => {
      const { message } = error as OperatorError;
      if (message !== printed) line.printLine(`${message} Trying again until it succeeds.`);
      printed = message;
    },
    signal,
  });
}

/** Resolves with the state of the folder when it differs from `ingested` and has settled. */
async function waitForChange(path: string, ingested: string, signal: AbortSignal): Promise<string> {
  let previous = ingested;
  let changedMs: number | null = null;
  for (let lookMs = 0; ; ) {
    await pause(Math.max(LOOK_MS, lookMs / MAX_LOOK_SHARE), signal);
    const startMs = performance.now();
    const state = await readState(path);
    lookMs = performance.now() - startMs;
    if (state === ingested) changedMs = null;
    else {
      changedMs ??= startMs;
      if (state === previous || startMs - changedMs > MAX_UNSETTLED_MS) return state;
    }
    previous = state;
  }
}

/** Describes the documents of a folder by names, sizes and times; empty for a folder without documents. */
async function readState(path: string): Promise<string> {
  try {
    const { documents } = await findDocuments(path);
    const stamps: string[] = [];
    for (const document of documents) stamps.push(`${document.name}\0${await fileStamp(document.path)}`);
    return stamps.join('\n');
  } catch (error) {
    if (error instanceof OperatorError) return '';
    throw error;
  }
}
