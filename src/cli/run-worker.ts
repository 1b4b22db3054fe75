import { boot } from '../boot/boot.ts';
import { loadConfig } from '../config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, openLogDestination } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { SHUTDOWN_ORDER } from '../shutdown-order.ts';
import { startWorker } from '../worker.ts';
import { exitIfSignalled, waitForSignal } from './signals.ts';

/** Runs background work until SIGTERM or SIGINT. Throws an `OperatorError` when it cannot start. */
export async function runWorker(): Promise<void> {
  const config = loadConfig();
  if (config.databaseUrl === null) {
    throw new OperatorError(
      "The embedded database serves one process, and 'quire serve' runs its background work. Set QUIRE_DATABASE_URL to run separate workers.",
    );
  }
  if (config.blobsUrl === null || config.indexUrl === null) {
    throw new OperatorError(
      'A worker needs the files and the search index of the services, and its data folder is its own. Set QUIRE_BLOBS_URL and QUIRE_INDEX_URL to those of the services.',
    );
  }
  const logger = createLogger(config.logLevel, await openLogDestination(config.logFormat));
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
  await exitIfSignalled();
  const stopped = waitForSignal(logger);
  try {
    await lifecycle.start(
      'data folder',
      () => holdDataFolder(config.dataDir, logger),
      (held) => held.close(),
    );
    const { deps, telemetry } = await boot(config, logger, lifecycle, 'worker');
    await lifecycle.start(
      'worker',
      () => startWorker(deps, telemetry),
      (worker) => worker.stop(),
    );
    console.log('The Quire worker is ready.');
    await stopped;
  } finally {
    await lifecycle.stop((part, error) =>
      logger.error({ part, reason: describeError(error) }, 'component failed to stop'),
    );
  }
}
