import { setTimeout as pause } from 'node:timers/promises';
import { showProgress } from '../harness/command.ts';
import { processTree, processUsage } from '../harness/process-usage.ts';
import { startQuire } from '../harness/quire-process.ts';
import { connectService, ingestFiles, type ServiceClient } from '../harness/service-client.ts';
import { connectProfiler, type Profiler } from './profile.ts';
import type { Writers } from './texts.ts';
import { type ThreadGroup, ThreadUsage } from './thread-usage.ts';
import { generateFiles, type IngestWorkload, type WorkloadFile } from './workloads.ts';

/** Concurrent uploads. More do not raise the throughput. */
const CONCURRENT_UPLOADS = 4;
/** Sampling interval of memory and threads. */
const SAMPLE_MS = 100;
/** Idle time after the start, until everything that loads in the background is loaded. */
const SETTLE_MS = 3000;

/** Measurements of one ingestion. */
export interface IngestionRun {
  workload: string;
  round: number;
  files: number;
  documents: number;
  chunks: number;
  /** Total size of the files. */
  bytes: number;
  uploadSeconds: number;
  /** From the creation of the data source to the end of its job. */
  seconds: number;
  /** CPU milliseconds in that time by thread group. */
  cpuMs: Record<ThreadGroup, number>;
  /**
   * Resident memory of all processes in bytes: before the first upload, after the last, peak until the end of the job.
   */
  startBytes: number;
  uploadedBytes: number;
  peakBytes: number;
  /** Main-thread milliseconds by activity; only of a profiled run. */
  mainMs?: Record<string, number>;
}

/** Ingests a workload into a new service. Rejects when a document fails. */
export async function measureIngestion(
  workload: IngestWorkload,
  plan: { files: number; round: number; writers: Writers; profiled: boolean },
): Promise<IngestionRun> {
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
    const { ids, bytes } = await uploadAll(service, generateFiles(workload, plan.files, plan.writers), plan.files);
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
  files: Generator<WorkloadFile>,
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
): Promise<Pick<IngestionRun, 'documents' | 'chunks' | 'seconds' | 'cpuMs' | 'mainMs'>> {
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
    Object.entries(sampler.threads.sums()).map(([part, ms]) => [part, ms - before[part as ThreadGroup]]),
  ) as Record<ThreadGroup, number>;
  const mainMs = profiler === null ? {} : { mainMs: Object.fromEntries(await profiler.stop()) };
  return { documents: job.documents_processed, chunks: job.chunks_created, seconds, cpuMs, ...mainMs };
}
