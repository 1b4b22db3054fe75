import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Deps } from '../../deps.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { openSource } from '../data-sources/open-source.ts';
import { Extractor } from './extract/extractor.ts';
import { INGEST_SOURCE } from './ingest-job.ts';
import { ingestSource } from './ingest-source.ts';

/** What background ingestion needs. */
export type IngestionDeps = Pick<
  Deps,
  'db' | 'blobs' | 'chunks' | 'jobs' | 'models' | 'secrets' | 'config' | 'logger' | 'recordUsage' | 'metrics' | 'now'
>;

/**
 * Items of all jobs that are fetched, read and embedded at once, and of one organization: one place is always left for others. Each may
 * have a process that reads it.
 */
const ITEMS_AT_ONCE = { total: 4, perGroup: 3 };

/** Runs ingestion jobs in this process from now on. `stop` ends the processes that read documents, once the queue has stopped. */
export function workOnIngestion(deps: IngestionDeps): { stop(): Promise<void> } {
  const folder = join(deps.config.dataDir, 'tmp');
  // What lies there is of a process that was killed.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const onLostReader = (reason: string) =>
    deps.logger.warn({ reason }, 'a document took the process that read it with it; the next one gets another');
  const extractor = new Extractor({ folder, readers: ITEMS_AT_ONCE.total, onLostReader });
  const gate = new FairSemaphore(ITEMS_AT_ONCE);
  const connectorOf = (source: Parameters<typeof openSource>[1]) => openSource(deps, source);
  deps.jobs.work(INGEST_SOURCE, ({ jobId }, signal) =>
    ingestSource({ ...deps, extractor, gate, connectorOf }, jobId, signal),
  );
  return { stop: () => extractor.close() };
}
