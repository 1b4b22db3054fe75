import type { Deps } from './deps.ts';
import { pruneIdempotencyKeys } from './http/idempotency/idempotency.ts';
import { every } from './lib/every.ts';

const HOUR_MS = 60 * 60 * 1000;

/** Background work that runs, until it is stopped. */
export interface Worker {
  /** Resolves when what was running has ended. */
  stop(): Promise<void>;
}

/** The table of contents of background work. */
export function startWorker(deps: Pick<Deps, 'db' | 'logger' | 'now'>): Worker {
  const tasks = [every(HOUR_MS, 'prune idempotency keys', () => pruneIdempotencyKeys(deps), deps.logger)];

  return {
    stop: async () => {
      await Promise.all(tasks.map((task) => task.stop()));
    },
  };
}
