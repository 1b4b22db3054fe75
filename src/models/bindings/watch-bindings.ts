import type { Database } from '../../db/db.ts';
import type { Logger } from '../../lib/logger.ts';
import { runPeriodically } from '../../lib/run-periodically.ts';
import { selectBindingsVersion } from './store.ts';

/** Another process applies a change within this time. The query costs one primary-key lookup. */
const POLL_MS = 2_000;

/** Where bindings are watched, and what is done with their version. */
export interface BindingsWatch {
  db: Database;
  logger: Logger;
  /** Receives the stored version at every poll, whether or not it has changed. */
  onVersion(version: number): Promise<void>;
}

/**
 * Polls the version of the stored bindings until `stop()` is called. Embedded databases have a single process, which makes
 * every change itself, so they are not polled. The one place to replace by LISTEN/NOTIFY.
 */
export function watchBindings({ db, logger, onVersion }: BindingsWatch): { stop(): Promise<void> } {
  if (db.kind === 'embedded') return { stop: () => Promise.resolve() };
  return runPeriodically(
    POLL_MS,
    'watch model bindings',
    async () => onVersion(await selectBindingsVersion(db.sql)),
    logger,
  );
}
