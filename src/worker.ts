import type { Deps } from './deps.ts';
import { sweepLooseBlobs } from './files/loose-blobs.ts';
import { pruneIdempotencyKeys } from './http/idempotency/idempotency.ts';
import { dropIndexes } from './knowledge-bases/drop-indexes.ts';
import { every } from './lib/every.ts';

const HOUR_MS = 60 * 60 * 1000;

/** Background work that runs, until it is stopped. */
export interface Worker {
  /** Resolves when what was running has ended. */
  stop(): Promise<void>;
}

/** The table of contents of background work. */
export function startWorker(deps: Pick<Deps, 'db' | 'blobs' | 'chunks' | 'logger' | 'now'>): Worker {
  const startedAt = deps.now();
  const hourly = (name: string, task: () => Promise<void>) => every(HOUR_MS, name, task, deps.logger);
  const tasks = [
    hourly('prune idempotency keys', () => pruneIdempotencyKeys(deps)),
    hourly('sweep loose blobs', () => sweepLooseBlobs(deps, startedAt)),
    hourly('remove dropped indexes', () => dropIndexes(deps)),
  ];

  return {
    stop: async () => {
      await Promise.all(tasks.map((task) => task.stop()));
    },
  };
}
