import { createWorkerApp } from '../app.ts';
import { type Booted, boot } from '../boot/boot.ts';
import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { drain } from '../http/drain.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, openLogDestination } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import { VERSION } from '../lib/version.ts';
import { startWorker } from '../worker.ts';
import { requireSharedStores } from './require-shared-stores.ts';
import { baseUrl, boundPort, listenOn } from './serve-api.ts';
import { exitIfSignalled, waitForSignal } from './signals.ts';

/** Requests for health and metrics end within milliseconds. Jobs do not wait for load balancers. */
const DRAIN_BOUNDS = { delayMs: 0, drainMs: 1_000, abortMs: 1_000 };

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
    const started = await boot(config, logger, lifecycle, { role: 'worker', signal, onWait: () => {} });
    const { deps, telemetry } = started;
    await lifecycle.start(
      'worker',
      () => startWorker({ ...deps, backups: null }, telemetry),
      (worker) => worker.stop(),
    );
    const url = await serveHealth(config, started, lifecycle);
    console.log(`The Quire worker is ready${url === null ? '' : ` at ${url}`}`);
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

/** Serves health and metrics of the worker on its own port. Returns its URL; null without a port. */
async function serveHealth(
  { host, workerPort }: Config,
  { deps, authenticator, limiter }: Booted,
  lifecycle: ProcessLifecycle,
): Promise<string | null> {
  if (workerPort === null) return null;
  const authenticateKey = (authorization: string | undefined) => authenticator.authenticate(authorization);
  const app = await lifecycle.start(
    'api',
    () => listenOn({ host, port: workerPort }, () => createWorkerApp({ ...deps, authenticateKey, limiter }, VERSION)),
    (listening) => drain(listening, deps.logger, DRAIN_BOUNDS),
  );
  return baseUrl(host, boundPort(app));
}
