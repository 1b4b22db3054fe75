import { setTimeout as pause } from 'node:timers/promises';
import { forEachConcurrent } from '../../src/lib/for-each-concurrent.ts';
import { processTree, processUsage } from '../harness/process-usage.ts';
import type { RunningQuire } from '../harness/quire-process.ts';
import { quantile } from '../harness/statistics.ts';
import { type ChatBody, toBatchFile } from './requests.ts';

const POLL_MS = 100;

/** Throughput of one way to send requests. */
export interface Throughput {
  linesPerSecond: number;
  /** CPU time of the service and its children per 1,000 lines. */
  cpuMsPer1000: number;
  /** Prompt tokens from the prefix cache, in percent. Does not depend on other load. */
  cachedPercent: number;
}

/** A running batch. */
export interface BatchState {
  status: string;
  in_progress_at: number | null;
  request_counts: { total: number; completed: number; failed: number };
}

/** A service, or an API process beside workers. */
export type BatchService = Pick<RunningQuire, 'origin' | 'apiKey'>;

/** Sends requests to the service; throws for every status but 200. */
export async function call(quire: BatchService, method: string, path: string, body?: object): Promise<Response> {
  const isForm = body instanceof FormData;
  const response = await fetch(quire.origin + path, {
    method,
    headers: {
      authorization: `Bearer ${quire.apiKey}`,
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

const cpuMs = ({ pid }: RunningQuire): number => processUsage(processTree(pid))?.cpuMs ?? Number.NaN;

/** Sends the requests online, `concurrency` at a time. */
export async function measureOnline(
  quire: RunningQuire,
  requests: readonly ChatBody[],
  concurrency: number,
): Promise<Throughput> {
  const start = await snapshot(quire);
  await forEachConcurrent(requests, concurrency, async (body) => {
    await (await call(quire, 'POST', '/v1/chat/completions', body)).json();
  });
  return throughput(requests.length, start, await snapshot(quire));
}

/** Uploads the requests and creates their batch. Returns its path. */
export async function startBatch(quire: BatchService, requests: readonly ChatBody[]): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([toBatchFile(requests)]), 'lines.jsonl');
  const { id: input_file_id } = (await (await call(quire, 'POST', '/v1/files', form)).json()) as { id: string };
  const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const { id } = (await (await call(quire, 'POST', '/v1/batches', body)).json()) as { id: string };
  return `/v1/batches/${id}`;
}

/** Polls a batch until it has ended. Throws unless every line has completed. */
export async function waitForEnd(
  quire: BatchService,
  path: string,
  onPoll: (batch: BatchState) => void = () => {},
): Promise<void> {
  for (;;) {
    const batch = (await (await call(quire, 'GET', path)).json()) as BatchState;
    onPoll(batch);
    const { total, completed } = batch.request_counts;
    if (batch.status === 'completed' && completed === total) return;
    if (['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
      throw new Error(`the batch has failed: ${JSON.stringify(batch)}`);
    }
    await pause(POLL_MS);
  }
}

/** Runs the requests as a batch, from the creation of the batch to its end. */
export async function measureBatch(quire: RunningQuire, requests: readonly ChatBody[]): Promise<Throughput> {
  const path = await startBatch(quire, requests);
  const start = await snapshot(quire);
  await waitForEnd(quire, path);
  return throughput(requests.length, start, await snapshot(quire));
}

/** Time, CPU time and tokens so far. */
interface Snapshot {
  ms: number;
  cpuMs: number;
  promptTokens: number;
  cachedTokens: number;
}

async function snapshot(quire: RunningQuire): Promise<Snapshot> {
  const [ms, cpu] = [performance.now(), cpuMs(quire)];
  const { data } = (await (await call(quire, 'GET', '/v1/usage')).json()) as {
    data: { prompt_tokens: number; cached_tokens: number }[];
  };
  return {
    ms,
    cpuMs: cpu,
    promptTokens: data.reduce((sum, row) => sum + row.prompt_tokens, 0),
    cachedTokens: data.reduce((sum, row) => sum + row.cached_tokens, 0),
  };
}

function throughput(lines: number, start: Snapshot, end: Snapshot): Throughput {
  return {
    linesPerSecond: (lines * 1000) / (end.ms - start.ms),
    cpuMsPer1000: ((end.cpuMs - start.cpuMs) * 1000) / lines,
    cachedPercent: (100 * (end.cachedTokens - start.cachedTokens)) / (end.promptTokens - start.promptTokens),
  };
}

/** Time to the first event of streamed requests, one after the other: p50 and p99 in milliseconds. */
export async function measureFirstEvents(
  quire: RunningQuire,
  body: ChatBody,
  count: number,
): Promise<[number, number]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const startMs = performance.now();
    const response = await call(quire, 'POST', '/v1/chat/completions', { ...body, stream: true });
    const reader = response.body?.getReader();
    await reader?.read();
    times.push(performance.now() - startMs);
    while (!(await reader?.read())?.done);
  }
  return [quantile(times, 0.5), quantile(times, 0.99)];
}

/** Resident memory of the service above `idleBytes`, in MB, sampled while `work` runs. */
export async function measureMemory(quire: RunningQuire, work: () => Promise<void>): Promise<number[]> {
  const rss = () => processUsage([quire.pid])?.rssBytes ?? Number.NaN;
  const idle = rss();
  const samples: number[] = [];
  const timer = setInterval(() => samples.push((rss() - idle) / 1_000_000), 500);
  await work().finally(() => clearInterval(timer));
  return samples;
}
