import type { Database } from '../../db/db.ts';
import type { Logger } from '../../lib/logger.ts';
import { runPeriodically } from '../../lib/run-periodically.ts';
import { selectBindingsVersion } from './store.ts';

/** Fallback for lost notifications, and retry interval of failed bindings. One primary-key lookup. */
const POLL_MS = 30_000;

/** Options of the watch on bindings. */
export interface BindingsWatch {
  db: Pick<Database, 'sql' | 'listen'>;
  logger: Logger;
  /** Receives the stored version after every change and at every poll, whether or not it has changed. */
  onVersion(version: number): Promise<void>;
}

/** Reports the version of the stored bindings until `stop()`: after changes by any process, and periodically. */
export function watchBindings({ db, logger, onVersion }: BindingsWatch): { stop(): Promise<void> } {
  const check = async () => onVersion(await selectBindingsVersion(db.sql));
  const polling = runPeriodically(POLL_MS, 'watch model bindings', check, logger);
  const unlisten = db.listen('quire_model_bindings', { onNotification: polling.trigger, onGap: polling.trigger });
  return {
    stop: () => {
      unlisten();
      return polling.stop();
    },
  };
}
