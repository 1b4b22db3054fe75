import { defineJob } from '../queue/define-job.ts';

/** Batches that one process runs concurrently. Their lines share one semaphore, so more batches cost little. */
const CONCURRENT_BATCHES = 64;
/** Batches of one organization among them, so that other organizations always get slots. */
const BATCHES_PER_ORGANIZATION = 48;

/** Validates, runs and finalizes a batch. It ends by its own states, so the queue retries without end. */
export const RUN_BATCH = defineJob<{ batchId: string }>({
  name: 'run-batch',
  concurrency: CONCURRENT_BATCHES,
  perGroup: BATCHES_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
});
