import { defineJob } from '../../queue/define-job.ts';

/** Maximum number of concurrent jobs per process. Their documents share one semaphore, so more jobs cost little. */
const SOURCES_AT_ONCE = 16;
/** Maximum number of concurrent jobs per organization, so that others find a free slot. */
const SOURCES_PER_ORGANIZATION = 2;

/** Ingests a data source. The job's row counts and limits the attempts, so the queue retries without a limit. */
export const INGEST_SOURCE = defineJob<{ jobId: string }>({
  name: 'ingest-source',
  concurrency: SOURCES_AT_ONCE,
  perGroup: SOURCES_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
});
