import { runMaintenance } from './db/maintenance.ts';
import { deleteOrphanedBlobs } from './files/orphaned-blobs.ts';
import { pruneIdempotencyKeys } from './http/idempotency/idempotency.ts';
import { sweepDroppedDocuments } from './knowledge-bases/documents/drop-documents.ts';
import { dropIndexes } from './knowledge-bases/drop-indexes.ts';
import { queueEmbedding } from './knowledge-bases/ingestion/queue-embedding.ts';
import { type IngestionDeps, workOnIngestion } from './knowledge-bases/ingestion/work-on-ingestion.ts';
import { runPeriodically } from './lib/run-periodically.ts';

const HOUR_MS = 60 * 60 * 1000;

/** How soon a knowledge base is embedded again after its embedding model was bound to something else. */
const LOOK_AT_MODELS_MS = 15_000;

/** Often enough for an ingestion that fills tables of which the planner has never heard. */
const KEEP_IN_ORDER_MS = 5 * 60 * 1000;

/** Background work that runs, until it is stopped. */
export interface Worker {
  /** Resolves when what was running has ended. */
  stop(): Promise<void>;
}

/** The table of contents of background work. */
export function startWorker(deps: IngestionDeps): Worker {
  const startedAt = deps.now();
  const hourly = (name: string, task: () => Promise<void>) => runPeriodically(HOUR_MS, name, task, deps.logger);
  const tasks = [
    hourly('prune idempotency keys', () => pruneIdempotencyKeys(deps)),
    hourly('sweep loose blobs', () => deleteOrphanedBlobs(deps, startedAt)),
    hourly('remove dropped indexes', () => dropIndexes(deps)),
    hourly('remove dropped documents', () => sweepDroppedDocuments(deps)),
  ];
  const ingestion = workOnIngestion(deps);
  tasks.push(
    runPeriodically(LOOK_AT_MODELS_MS, 'embed knowledge bases again', () => queueEmbedding(deps), deps.logger),
  );
  tasks.push(
    runPeriodically(KEEP_IN_ORDER_MS, 'keep the database in order', () => runMaintenance(deps.db), deps.logger),
  );

  return {
    stop: async () => {
      await Promise.all(tasks.map((task) => task.stop()));
      await deps.jobs.stop();
      await ingestion.stop();
    },
  };
}
