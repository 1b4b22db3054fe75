/** Batches over HTTP, of an API in the test process and of a spawned service. */
import assert from 'node:assert/strict';
import { encodeForm, sendForm } from './forms.ts';

/** Where requests go. */
export interface BatchTarget {
  url: string;
  key: string;
}

/** One line of an input file that asks a chat model. */
export function chatLine(customId: string, content: string, body: object = {}): string {
  const messages = [{ role: 'user', content }];
  return batchLine(customId, '/v1/chat/completions', { model: 'general-8b', messages, ...body });
}

/** One line of an input file. */
export function batchLine(customId: string, url: string, body: unknown): string {
  return JSON.stringify({ custom_id: customId, method: 'POST', url, body });
}

/** Uploads a file of the purpose `batch`. Returns its id. */
export async function uploadBatchFile({ url, key }: BatchTarget, content: string | Uint8Array): Promise<string> {
  const parts = [
    { name: 'purpose', content: 'batch' },
    { name: 'file', filename: 'lines.jsonl', content },
  ];
  const { status, json, text } = await sendForm(`${url}/v1/files`, encodeForm(parts), { key });
  assert.equal(status, 200, text);
  return json.id;
}

// biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
type Json = any;

/** Sends a request with a JSON body. Asserts that it succeeds. */
export async function callBatches({ url, key }: BatchTarget, method: string, path = '', body?: object): Promise<Json> {
  const response = await fetch(`${url}/v1/batches${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Uploads the lines and creates a batch of them. */
export async function createBatchOf(
  target: BatchTarget,
  lines: readonly string[],
  endpoint = '/v1/chat/completions',
): Promise<Json> {
  const input = await uploadBatchFile(target, lines.map((line) => `${line}\n`).join(''));
  return callBatches(target, 'POST', '', { input_file_id: input, endpoint, completion_window: '24h' });
}

const ENDED = ['completed', 'failed', 'cancelled', 'expired'];

/** Polls a batch until `isSo`, by default until it has ended. */
export async function waitForBatch(
  target: BatchTarget,
  id: string,
  isSo: (batch: Json) => boolean = ({ status }) => ENDED.includes(status),
  timeoutMs = 30_000,
): Promise<Json> {
  for (const startedAt = performance.now(); ; ) {
    const batch = await callBatches(target, 'GET', `/${id}`);
    if (isSo(batch)) return batch;
    if (performance.now() - startedAt > timeoutMs) throw new Error(`not in time: ${JSON.stringify(batch)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Downloads the lines of an output or error file; none without a file. */
export async function readResults({ url, key }: BatchTarget, fileId: string | null): Promise<Json[]> {
  if (fileId === null) return [];
  const headers = { authorization: `Bearer ${key}` };
  const text = await (await fetch(`${url}/v1/files/${fileId}/content`, { headers })).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/**
 * Asserts that every custom id is in exactly one file of an ended batch, and that its counters agree. Returns both
 * files.
 */
export async function assertEveryLineOnce(
  target: BatchTarget,
  batch: Json,
  customIds: readonly string[],
): Promise<{ output: Json[]; errors: Json[] }> {
  const output = await readResults(target, batch.output_file_id);
  const errors = await readResults(target, batch.error_file_id);
  assert.deepEqual([...output, ...errors].map((line) => line.custom_id).toSorted(), customIds.toSorted());
  const { total, completed, failed } = batch.request_counts;
  assert.deepEqual([total, completed, failed], [customIds.length, output.length, errors.length]);
  return { output, errors };
}
