import { setTimeout as pause } from 'node:timers/promises';
import { showProgress } from '../harness/command.ts';
import { processTree, processUsage } from '../harness/process-usage.ts';
import { startQuire } from '../harness/quire-process.ts';
import { connectService, ingestFiles, type ServiceClient } from '../harness/service-client.ts';
import { connectProfiler, type Profiler } from './profile.ts';
import type { Writers } from './texts.ts';
import { type Part, ThreadUsage } from './thread-usage.ts';
import { filesOf, type NewFile, type Workload } from './workloads.ts';

/** Concurrent uploads. More do not raise the throughput. */
const CONCURRENT_UPLOADS = 4;
/** Sampling interval of memory and threads. */
const SAMPLE_MS = 100;
/** Idle time after the start, until everything that loads in the background is loaded. */
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

/** Fills one knowledge base of a fresh service. Rejects where a document could not be ingested. */
export async function measureIngestion(
  workload: Workload,
  plan: { files: number; round: number; writers: Writers; profiled: boolean },
): Promise<Ingestion> {
  const quire = await startQuire(undefined, plan.profiled ? ['--inspect=127.0.0.1:0'] : [], {
    QUIRE_LOCAL_CALIBRATION: 'off',
  });
  const sampler = new UsageSampler(quire.pid);
  try {
    const profiler = plan.profiled ? await connectProfiler(quire.output()) : null;
    await pause(SETTLE_MS);
    const service = await connectService({ url: quire.origin, key: quire.apiKey });
    const startBytes = sampler.sample();
    const uploadStart = performance.now();
    const { ids, bytes } = await uploadAll(service, filesOf(workload, plan.files, plan.writers), plan.files);
    const uploadSeconds = (performance.now() - uploadStart) / 1000;
    const uploadedBytes = sampler.sample();
    const found = await ingest(service, sampler, { ids, profiler, name: workload.name });
    return {
      workload: workload.name,
      round: plan.round,
      files: ids.length,
      bytes,
      uploadSeconds,
      startBytes,
      uploadedBytes,
      peakBytes: sampler.peakBytes,
      ...found,
    };
  } catch (error) {
    if (!quire.ended()) throw error;
    throw new Error(`Quire ended. The end of its output:\n${quire.output()}`, { cause: error });
  } finally {
    sampler.stop();
    await quire.stop();
  }
}

/** Samples memory and CPU time of a process tree until it is stopped. */
class UsageSampler {
  readonly threads = new ThreadUsage();
  peakBytes = 0;
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#pid = pid;
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS);
  }

  /** Takes a sample; returns resident memory in bytes. */
  sample(): number {
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
  service: ServiceClient,
  files: Generator<NewFile>,
  count: number,
): Promise<{ ids: string[]; bytes: number }> {
  const ids: string[] = [];
  let bytes = 0;
  const run = async () => {
    for (const { name, content } of files) {
      ids.push(await service.upload(name, content, 'knowledge-base'));
      bytes += Buffer.byteLength(content);
      showProgress(ids.length, count, 'files uploaded');
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, run));
  return { ids, bytes };
}

async function ingest(
  service: ServiceClient,
  sampler: UsageSampler,
  { ids, profiler, name }: { ids: string[]; profiler: Profiler | null; name: string },
): Promise<Pick<Ingestion, 'documents' | 'chunks' | 'seconds' | 'cpuMs' | 'mainMs'>> {
  const base = await service.post<{ id: string }>('/v1/knowledge-bases', { name });
  sampler.sample();
  const before = sampler.threads.sums();
  await profiler?.start();
  const start = performance.now();
  const { job } = await ingestFiles(service, base.id, ids, ({ documents_processed: done }) =>
    showProgress(done, Math.max(done + 1, ids.length), 'documents ingested'),
  );
  if (job.status === 'failed' || job.documents_failed > 0) {
    throw new Error(`the ingestion failed: ${JSON.stringify(job)}`);
  }
  const seconds = (performance.now() - start) / 1000;
  sampler.sample();
  const cpuMs = Object.fromEntries(
    Object.entries(sampler.threads.sums()).map(([part, ms]) => [part, ms - before[part as Part]]),
  ) as Record<Part, number>;
  const mainMs = profiler === null ? {} : { mainMs: Object.fromEntries(await profiler.stop()) };
  return { documents: job.documents_processed, chunks: job.chunks_created, seconds, cpuMs, ...mainMs };
}
