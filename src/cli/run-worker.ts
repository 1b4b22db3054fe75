import { boot } from '../boot/boot.ts';
import { SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { loadConfig } from '../config/config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, openLogDestination } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { startWorker } from '../worker.ts';
import { requireSharedStores } from './require-shared-stores.ts';
import { exitIfSignalled, waitForSignal } from './signals.ts';

/** Runs background work until SIGTERM or SIGINT. Throws an `OperatorError` when it cannot start. */
export async function runWorker(): Promise<void> {
  const config = loadConfig();
  requireSharedStores(config, 'worker');
  const logger = createLogger(config.logLevel, await openLogDestination(config.logFormat));
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
  await exitIfSignalled();
  const stopping = new AbortController();
  const stopped = waitForSignal(logger).then(() => stopping.abort());
  const { signal } = stopping;
  try {
    await lifecycle.start(
      'data folder',
      () => holdDataFolder(config.dataDir, logger),
      (held) => held.close(),
    );
    const { deps, telemetry } = await boot(config, logger, lifecycle, { role: 'worker', signal, onWait: () => {} });
    await lifecycle.start(
      'worker',
      () => startWorker(deps, telemetry),
      (worker) => worker.stop(),
    );
    console.log('The Quire worker is ready.');
    await stopped;
  } catch (error) {
    // A process that was stopped while it waited for its stores.
    if (error !== signal.reason) throw error;
  } finally {
    await lifecycle.stop((part, error) =>
      logger.error({ part, reason: describeError(error) }, 'component failed to stop'),
    );
  }
}
