import type { Sql } from '../db/db.ts';
import { defineJob } from '../queue/define-job.ts';
import type { JobQueue } from '../queue/job-queue.ts';

/** Jobs that one process runs concurrently. Their lines share one semaphore, so more jobs cost little. */
const CONCURRENT_JOBS = 64;
/** Jobs of one organization among them, so that other organizations always get slots. */
const JOBS_PER_ORGANIZATION = 48;

/** They end by the states of their batch, so the queue retries without end. */
const LIMITS = {
  concurrency: CONCURRENT_JOBS,
  perGroup: JOBS_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
} as const;

/** Validates a batch and plans its ranges, or finalizes it. The key is the batch: one process at a time. */
export const RUN_BATCH = defineJob<{ batchId: string }>({ name: 'run-batch', ...LIMITS });

/** One range of the lines of a batch. */
export interface RangeJob {
  batchId: string;
  organizationId: string;
  range: number;
}

/** Runs the lines of one range. Its start enqueues the next range of the batch, so batches take turns. */
export const RUN_RANGE = defineJob<RangeJob>({ name: 'run-batch-range', ...LIMITS });

/** What running batches need of the queue. */
export type BatchQueue = Pick<JobQueue, 'enqueue' | 'wake'>;

/** Enqueues the validation or the finalization of a batch. */
export function enqueueBatch(
  sql: Sql,
  jobs: Pick<JobQueue, 'enqueue'>,
  { batchId, organizationId }: Omit<RangeJob, 'range'>,
): Promise<void> {
  return jobs.enqueue(sql, RUN_BATCH, { batchId }, { key: batchId, group: organizationId });
}

/** Enqueues a range, after a delay if the engines of its lines need time. */
export function enqueueRange(
  sql: Sql,
  jobs: Pick<JobQueue, 'enqueue'>,
  job: RangeJob,
  delaySeconds?: number,
): Promise<void> {
  const key = `${job.batchId}:${job.range}`;
  const delay = delaySeconds === undefined ? {} : { delaySeconds };
  return jobs.enqueue(sql, RUN_RANGE, job, { key, group: job.organizationId, ...delay });
}
