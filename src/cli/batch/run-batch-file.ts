import { createWriteStream, openAsBlob } from 'node:fs';
import { access, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch } from '../../batches/schema.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import type { ApiClient } from '../api-client.ts';
import { HttpStatusError } from '../client-errors.ts';
import { describeReadError } from '../ingest/find-documents.ts';
import { Interrupted } from '../interrupted.ts';
import type { StatusLine } from '../status-line.ts';

/** Parameters of a run. */
export interface BatchRunRequest {
  /** A JSONL file. */
  path: string;
  endpoint: string;
}

/** Result of a run; the JSON output of `quire batch run`. */
export interface BatchRunResult {
  batch: Batch;
  /** Written files; null without such results. */
  output_path: string | null;
  error_path: string | null;
}

const POLL_MS = 500;
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired']);

/**
 * Runs a file as a batch, shows its progress, and writes its results beside the file. The id of a running batch is
 * stored beside the file, too: the next call with that file watches it again. Throws `Interrupted` when the signal
 * aborts; the batch goes on.
 */
export async function runBatchFile(
  api: ApiClient,
  request: BatchRunRequest,
  line: StatusLine,
  signal: AbortSignal,
): Promise<BatchRunResult> {
  const path = resolve(request.path);
  const statePath = `${path}.batch`;
  const stem = path.replace(/\.jsonl$/, '');
  const running = await findRunningBatch(api, statePath, request.endpoint);
  const started = running ?? (await startBatch(api, { ...request, path }, line, signal));
  if (running === null) await writeFile(statePath, `${started.id}\n`);
  else line.printLine(`Watching batch ${running.id}, which an earlier call has started.`);
  try {
    const batch = await watchBatch(api, started, line, signal);
    const output_path = await download(api, batch.output_file_id, `${stem}.output.jsonl`, signal);
    const error_path = await download(api, batch.error_file_id, `${stem}.errors.jsonl`, signal);
    await rm(statePath, { force: true });
    return { batch, output_path, error_path };
  } catch (error) {
    if (!signal.aborted) throw error;
    line.end();
    throw new Interrupted(`Stopped watching. Batch ${started.id} goes on; the same command watches it again.`);
  }
}

/** The batch of an earlier call; null when there is none, or the service does not know it. */
async function findRunningBatch(api: ApiClient, statePath: string, endpoint: string): Promise<Batch | null> {
  const id = await readFile(statePath, 'utf8').catch(() => null);
  if (id === null) return null;
  try {
    const batch = await api.json<Batch>('GET', `/v1/batches/${encodeURIComponent(id.trim())}`);
    if (batch.endpoint === endpoint) return batch;
  } catch (error) {
    if (!(error instanceof HttpStatusError) || error.status !== 404) throw error;
    return null;
  }
  throw new OperatorError(`A batch of this file runs for another endpoint. Delete ${statePath} to start a new one.`);
}

async function startBatch(
  api: ApiClient,
  { path, endpoint }: BatchRunRequest,
  line: StatusLine,
  signal: AbortSignal,
): Promise<Batch> {
  await access(path).catch((error: unknown) => {
    throw new OperatorError(`${path}: ${describeReadError(error)}`);
  });
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', await openAsBlob(path), basename(path));
  line.show('uploading', { done: 0, total: 1 });
  const { id } = await api.json<{ id: string }>('POST', '/v1/files', form, { signal });
  line.show('uploading', { done: 1, total: 1 });
  const body = { input_file_id: id, endpoint, completion_window: '24h' };
  try {
    return await api.json<Batch>('POST', '/v1/batches', body);
  } catch (error) {
    await api.send('DELETE', `/v1/files/${id}`).catch(() => {});
    throw error;
  }
}

async function watchBatch(api: ApiClient, started: Batch, line: StatusLine, signal: AbortSignal): Promise<Batch> {
  let from: { ms: number; done: number } | null = null;
  for (;;) {
    const batch = await api.json<Batch>('GET', `/v1/batches/${started.id}`, undefined, { signal });
    const { total, completed, failed } = batch.request_counts;
    const done = completed + failed;
    if (batch.status !== 'validating') from ??= { ms: performance.now(), done };
    const seconds = from === null ? 0 : (performance.now() - from.ms) / 1000;
    const rate = from === null || seconds === 0 ? '' : `  ${((done - from.done) / seconds).toFixed(1)}/s`;
    const failures = failed === 0 ? '' : `  ${failed} failed`;
    line.show(`${batch.status.replace('_', '-')}${rate}${failures}`, { done, total });
    if (ENDED.has(batch.status)) return batch;
    await pause(POLL_MS, undefined, { signal });
  }
}

/** Downloads a file. It appears under its name when it is complete. */
async function download(
  api: ApiClient,
  fileId: string | null,
  path: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (fileId === null) return null;
  const { body } = await api.send('GET', `/v1/files/${fileId}/content`, undefined, { signal });
  const content = body === null ? [] : Readable.fromWeb(body as ReadableStream);
  await pipeline(content, createWriteStream(`${path}.part`), { signal });
  await rename(`${path}.part`, path);
  return path;
}
