import { defineJob } from '../../queue/define-job.ts';

/** Sources that one process reads at once. More share the same two cores and the same embedder. */
const SOURCES_AT_ONCE = 2;

/** Reads a data source into its knowledge base. Whether it is tried again is for the job's row to say, so the queue does so often. */
export const INGEST_SOURCE = defineJob<{ jobId: string }>({
  name: 'ingest-source',
  concurrency: SOURCES_AT_ONCE,
  retries: 100,
  retrySeconds: 2,
});
