import { defineJob } from '../../queue/define-job.ts';

/** Maximum number of concurrent jobs per process. Their documents share one semaphore, so more jobs cost little. */
const SOURCES_AT_ONCE = 16;
/** Maximum number of concurrent jobs per organization, so that others find a free slot. */
const SOURCES_PER_ORGANIZATION = 2;

/** The archive of an import, a stored file. */
export interface ImportedArchive {
  organizationId: string;
  fileId: string;
  /** Number of the data source in the archive, from 1. */
  source: number;
}

/** Data of an ingestion job. */
export interface IngestJob {
  jobId: string;
  /** Set for a job of the kind `import`. */
  archive?: ImportedArchive;
}

/** Ingests a data source. The job's row counts and limits the attempts, so the queue retries without a limit. */
export const INGEST_SOURCE = defineJob<IngestJob>({
  name: 'ingest-source',
  concurrency: SOURCES_AT_ONCE,
  perGroup: SOURCES_PER_ORGANIZATION,
  retries: 100_000,
  retrySeconds: 2,
});
