/** The jobs of batches in the test process, run by the queue or by the test. */
import { type BatchQueue, RUN_BATCH, RUN_RANGE } from '../src/batches/batch-job.ts';
import { type BatchWorker, type BatchWorkerDeps, createBatchWorker } from '../src/batches/batch-worker.ts';
import type { Deps } from '../src/deps.ts';

/** Kinds of the jobs of batches. */
export const BATCH_JOBS = [RUN_BATCH, RUN_RANGE] as const;

/** Takes the jobs of batches from the queue, as a worker process does. */
export function workBatches(deps: Deps, concurrency: number): void {
  const { runBatch, runRange, busyOrganizations } = createBatchWorker(deps, concurrency);
  deps.jobs.work(RUN_BATCH, runBatch);
  deps.jobs.work(RUN_RANGE, runRange, busyOrganizations);
}

/** Runs a job in a worker. */
type QueuedJob = (worker: BatchWorker, signal: AbortSignal) => Promise<void>;

/** Jobs that the test runs one after the other, in a worker of its choice. */
export class InlineJobs {
  readonly waiting: QueuedJob[] = [];
  /** The queue of the workers. A job is added before its transaction commits: no other one runs meanwhile. */
  readonly queue: BatchQueue = {
    enqueue: async (_sql, kind, data) => {
      const isRange = kind.name === RUN_RANGE.name;
      this.waiting.push((worker, signal) =>
        isRange ? worker.runRange(data as never, signal) : worker.runBatch(data as never, signal),
      );
    },
    wake: () => {},
  };

  /** Creates a worker process that enqueues here. */
  createWorker(deps: Omit<BatchWorkerDeps, 'jobs'>, concurrency = 1): BatchWorker {
    return createBatchWorker({ ...deps, jobs: this.queue }, concurrency);
  }

  /** Runs the next job. One that fails stays the next. */
  async runNext(worker: BatchWorker, signal = new AbortController().signal): Promise<void> {
    const [job] = this.waiting;
    await job?.(worker, signal);
    this.waiting.splice(this.waiting.indexOf(job as QueuedJob), 1);
  }

  /** Runs jobs until none is left. */
  async runAll(worker: BatchWorker, signal?: AbortSignal): Promise<void> {
    while (this.waiting.length > 0) await this.runNext(worker, signal);
  }
}
