import { setTimeout as pause } from 'node:timers/promises';
import { progress } from '../../eval/progress.ts';
import { processTree, processUsage } from '../processes/process-usage.ts';
import { type RunningQuire, startQuire } from '../processes/quire.ts';
import { connectProfiler, type Profiler } from './profile.ts';
import type { Writers } from './texts.ts';
import { type Part, ThreadUsage } from './thread-usage.ts';
import { filesOf, type NewFile, type Workload } from './workloads.ts';

/** Uploads at once: more only wait for each other. */
const UPLOADS_AT_ONCE = 4;
/** How often memory and threads are looked at, and how often the job is. */
const SAMPLE_MS = 100;
const POLL_MS = 250;
/** Idle time after the start, so that what is loaded then is loaded. */
const SETTLE_MS = 3000;

/** What one ingestion took. */
export interface Ingestion {
  workload: string;
  round: number;
  files: number;
  documents: number;
  chunks: number;
  /** Of the files. */
  bytes: number;
  uploadSeconds: number;
  /** From the request that makes the data source until its job has ended. */
  seconds: number;
  /** CPU milliseconds during those, by threads. */
  cpuMs: Record<Part, number>;
  /** Resident memory of all processes in bytes: before the first upload, behind the last, at the most until the job has ended. */
  startBytes: number;
  uploadedBytes: number;
  peakBytes: number;
  /** What the main thread was at, in milliseconds; of a profiled run only. */
  mainMs?: Record<string, number>;
}

interface Job {
  status: string;
  documents_processed: number;
  documents_failed: number;
  chunks_created: number;
  error: object | null;
}

/** Fills one knowledge base of a fresh service. Rejects where a document could not be ingested. */
export async function measureIngestion(
  workload: Workload,
  plan: { files: number; round: number; writers: Writers; profiled: boolean },
): Promise<Ingestion> {
  const quire = await startQuire(undefined, plan.profiled ? ['--inspect=127.0.0.1:0'] : [], {
    QUIRE_LOCAL_CALIBRATION: 'off',
  });
  const watch = new Watch(quire.pid);
  try {
    const profiler = plan.profiled ? await connectProfiler(quire.output()) : null;
    await pause(SETTLE_MS);
    const startBytes = watch.bytes();
    const uploadStart = performance.now();
    const { ids, bytes } = await uploadAll(quire, filesOf(workload, plan.files, plan.writers), plan.files);
    const uploadSeconds = (performance.now() - uploadStart) / 1000;
    const uploadedBytes = watch.bytes();
    const found = await ingest(quire, watch, { ids, profiler, name: workload.name });
    return {
      workload: workload.name,
      round: plan.round,
      files: ids.length,
      bytes,
      uploadSeconds,
      startBytes,
      uploadedBytes,
      peakBytes: watch.peakBytes,
      ...found,
    };
  } catch (error) {
    if (!quire.ended()) throw error;
    throw new Error(`Quire ended. The end of its output:\n${quire.output()}`, { cause: error });
  } finally {
    watch.stop();
    await quire.stop();
  }
}

/** Looks at memory and threads until it is stopped. */
class Watch {
  readonly threads = new ThreadUsage();
  peakBytes = 0;
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.bytes(), SAMPLE_MS);
  }

  /** Resident memory now. */
  bytes(): number {
    const processes = processTree(this.#pid);
    this.threads.read(processes);
    const bytes = processUsage(processes)?.rssBytes ?? 0;
    this.peakBytes = Math.max(this.peakBytes, bytes);
    return bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

async function uploadAll(
  quire: RunningQuire,
  files: Generator<NewFile>,
  count: number,
): Promise<{ ids: string[]; bytes: number }> {
  const ids: string[] = [];
  let bytes = 0;
  const run = async () => {
    for (const { name, content } of files) {
      const body = new FormData();
      body.append('purpose', 'knowledge-base');
      body.append('file', new Blob([content]), name);
      ids.push((await ask<{ id: string }>(quire, '/v1/files', { method: 'POST', body })).id);
      bytes += Buffer.byteLength(content);
      progress(ids.length, count, 'files uploaded');
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, run));
  return { ids, bytes };
}

async function ingest(
  quire: RunningQuire,
  watch: Watch,
  { ids, profiler, name }: { ids: string[]; profiler: Profiler | null; name: string },
): Promise<Pick<Ingestion, 'documents' | 'chunks' | 'seconds' | 'cpuMs' | 'mainMs'>> {
  const base = await post<{ id: string }>(quire, '/v1/knowledge-bases', { name });
  const path = `/v1/knowledge-bases/${base.id}`;
  watch.bytes();
  const before = watch.threads.sums();
  await profiler?.start();
  const start = performance.now();
  await post(quire, `${path}/data-sources`, { type: 'file_upload', config: { file_ids: ids } });
  for (;;) {
    await pause(POLL_MS);
    const [job] = (await ask<{ data: Job[] }>(quire, `${path}/ingestion-jobs`)).data;
    if (job === undefined) throw new Error('the data source has no ingestion job');
    progress(job.documents_processed, Math.max(job.documents_processed + 1, ids.length), 'documents ingested');
    if (job.status === 'failed' || job.documents_failed > 0) {
      throw new Error(`the ingestion failed: ${JSON.stringify(job)}\n${quire.output()}`);
    }
    if (job.status !== 'completed') continue;
    const seconds = (performance.now() - start) / 1000;
    watch.bytes();
    const after = watch.threads.sums();
    const cpuMs = Object.fromEntries(
      Object.entries(after).map(([part, ms]) => [part, ms - before[part as Part]]),
    ) as Record<Part, number>;
    const mainMs = profiler === null ? {} : { mainMs: Object.fromEntries(await profiler.stop()) };
    return { documents: job.documents_processed, chunks: job.chunks_created, seconds, cpuMs, ...mainMs };
  }
}

function post<T>(quire: RunningQuire, path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return ask(quire, path, { method: 'POST', body: JSON.stringify(body), headers });
}

async function ask<T>({ origin, apiKey }: RunningQuire, path: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${origin}${path}`, { ...init, headers });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as T;
}
