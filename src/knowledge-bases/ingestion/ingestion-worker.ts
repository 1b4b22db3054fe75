import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { PageRenderer } from '../../connectors/browser/page-renderer.ts';
import type { Deps } from '../../deps.ts';
import { Extractor } from '../../extraction/extractor.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import type { JobHandler } from '../../queue/job-queue.ts';
import { openSource } from '../data-sources/source-config.ts';
import type { IngestJob } from '../jobs/ingest-job.ts';
import { checkFile } from './check-file.ts';
import { ingestSource } from './ingest-source.ts';
import type { ArchiveImporter, IngestDeps } from './run-context.ts';

/** Memory of a thread that reads pages by OCR: 140 MB, and the pixels of a large image. */
const OCR_THREAD_MB = 192;

/** Dependencies of background ingestion. */
export type IngestionWorkerDeps = Pick<
  Deps,
  | 'db'
  | 'blobs'
  | 'chunks'
  | 'jobs'
  | 'models'
  | 'secrets'
  | 'config'
  | 'logger'
  | 'reserve'
  | 'recordUsage'
  | 'metrics'
  | 'now'
>;

/** Runs ingestion jobs in this process. */
export interface IngestionWorker {
  /** The handler of `INGEST_SOURCE`. */
  run: JobHandler<IngestJob>;
  /** The handler of `CHECK_FILE`. */
  checkFile: JobHandler<{ fileId: string; organizationId: string }>;
  /** Ends the reader processes and the browser. Call it after the queue has stopped. */
  stop(): Promise<void>;
}

/** Creates what all ingestion jobs of this process share: reader processes and a limit on concurrent items. */
export function startIngestion(deps: IngestionWorkerDeps, archives: ArchiveImporter | null = null): IngestionWorker {
  const folder = join(deps.config.dataDir, 'tmp');
  // Removes files of a process that was killed.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const onReaderCrash = (reason: string) => deps.logger.warn({ reason }, 'extraction process ended by a document');
  const { readers, readerHeapMb: heapMb, readerBufferMb: bufferMb } = deps.config.memory.budget;
  const { ocrEngine: engine, ocrLanguages: languages, ocrFolder } = deps.config;
  const threads = Math.max(1, Math.min(availableParallelism(), Math.floor(bufferMb / OCR_THREAD_MB)));
  const ocr = { engine, languages, folder: ocrFolder, threads };
  const extractor = new Extractor({ folder, readers, limits: { heapMb, bufferMb }, ocr, onReaderCrash });
  const { chromiumPath } = deps.config;
  const renderer =
    chromiumPath === null ? null : new PageRenderer({ executablePath: chromiumPath, folder, logger: deps.logger });
  // Permits for items of all jobs; one is always available to other organizations.
  const total = Math.max(2, readers);
  const itemSemaphore = new FairSemaphore({ total, perGroup: total - 1 });
  const openStored: IngestDeps['openSource'] = (source) => openSource(deps, source);
  return {
    run: async ({ jobId, archive }, signal) => {
      const ingestDeps = { ...deps, extractor, renderer, itemSemaphore, archives, openSource: openStored };
      await ingestSource(ingestDeps, jobId, signal, archive ?? null);
      if (archive !== undefined) await archives?.deleteArchive(deps, archive);
    },
    checkFile: (data, signal) => checkFile({ ...deps, extractor }, data, signal),
    stop: async () => {
      await Promise.all([extractor.close(), renderer?.close()]);
    },
  };
}
