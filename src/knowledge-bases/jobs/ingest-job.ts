import { defineJob } from '../../queue/define-job.ts';

/** Sources that one process reads at once. The documents of all of them share one gate, so more of them cost little. */
const SOURCES_AT_ONCE = 16;
/** Of one organization: the sources of others find room beside any number of its own. */
const SOURCES_PER_ORGANIZATION = 2;

/** Reads a data source into its knowledge base. Whether it is tried again is for the job's row to say, so the queue does so without end. */
export const INGEST_SOURCE = defineJob<{ jobId: string }>({
  name: 'ingest-source',
  concurrency: SOURCES_AT_ONCE,
  perGroup: SOURCES_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
});
