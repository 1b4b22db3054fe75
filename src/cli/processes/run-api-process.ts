import { connect } from 'node:net';
import { boot } from '../../boot/boot.ts';
import { SHUTDOWN_ORDER } from '../../boot/shutdown-order.ts';
import type { Config } from '../../config/config.ts';
import type { ChangedFacts } from '../../engines/remote/protocol.ts';
import { RemoteEngines } from '../../engines/remote/remote-engines.ts';
import type { ProcessStatus } from '../../health/engine-schema.ts';
import type { ModelsPull } from '../../health/routes.ts';
import { Lifecycle } from '../../lib/lifecycle.ts';
import { createLogger, openLogDestination } from '../../lib/logger.ts';
import { readSnapshot } from '../../lib/metrics.ts';
import { describeError } from '../../lib/operator-error.ts';
import { RpcPeer } from '../../lib/rpc-peer.ts';
import { defineJobs } from '../../worker.ts';
import { type ReloadableService, reloadConfig } from '../reload.ts';
import { boundPort, startApi } from '../serve-api.ts';
import type { FailedInput, HelloInput, HelloResult, ReadyInput, ReloadInput } from './process-calls.ts';

/** The connection to the main process, and what it asks of this one. */
interface MainConnection {
  peer: RpcPeer;
  engines: RemoteEngines;
  stopping: AbortController;
  /** Set once the service has started. */
  onMetrics(): Promise<unknown>;
  onReload(config: Config): void;
  /** A configuration that arrived before that. */
  pendingReload: Config | null;
}

/** Serves the API until the main process says so, or until SIGTERM. Without the main process, it exits at once. */
export async function runApiProcess(path: string, name: string): Promise<void> {
  const main = connectToMain(path);
  const { peer, stopping } = main;
  const { config, port, socketFolder } = await peer.call<HelloResult>('hello', { name } satisfies HelloInput);
  const logger = createLogger(config.logLevel, await openLogDestination(config.logFormat), name);
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
  process.on('SIGTERM', () => stopping.abort());
  const { signal } = stopping;
  try {
    const started = await boot(config, logger, lifecycle, {
      ...{ role: 'api', signal, onWait: () => {}, processName: name },
      main: { socketFolder, engines: main.engines },
    });
    const { deps } = started;
    main.onMetrics = () => readSnapshot(deps.metrics);
    await defineJobs(deps.jobs);
    const configuration = followReloads(main, config, { ...started, logger });
    const app = await startApi({ ...config, port }, started, lifecycle, {
      effectiveConfig: configuration,
      modelsPull: () => peer.call<ModelsPull | null>('models-pull', {}),
      readMetrics: () => peer.call<string>('scrape', {}),
      listProcesses: () => peer.call<ProcessStatus[]>('processes', {}),
    });
    await peer.call('ready', { port: boundPort(app) } satisfies ReadyInput);
    await aborted(signal);
  } catch (error) {
    if (error !== signal.reason) await reportFailure(peer, error);
  } finally {
    await lifecycle.stop((part, error) =>
      logger.error({ part, reason: describeError(error) }, 'component failed to stop'),
    );
  }
  process.exit();
}

function connectToMain(path: string): MainConnection {
  const stopping = new AbortController();
  const socket = connect(path);
  const peer: RpcPeer = new RpcPeer(socket, {
    call: async (method) => (method === 'metrics' ? main.onMetrics() : undefined),
    notify: (method, input) => {
      if (method === 'facts') main.engines.update(input as ChangedFacts);
      else if (method === 'reload') main.onReload((input as ReloadInput).config);
      else if (method === 'stop') stopping.abort();
    },
  });
  // The engines, and the embedded database, are gone with the main process: nothing can be answered or stored.
  void peer.closed.then(() => process.exit(1));
  const main: MainConnection = {
    ...{ peer, stopping, engines: new RemoteEngines(peer) },
    onMetrics: async () => [],
    onReload: (config) => {
      main.pendingReload = config;
    },
    pendingReload: null,
  };
  return main;
}

/** Applies the configurations of the main process in order. Returns a function that returns the one in force. */
function followReloads(main: MainConnection, config: Config, service: ReloadableService): () => Config {
  let inForce = config;
  let reloading = Promise.resolve();
  main.onReload = (next) => {
    reloading = reloading.then(async () => {
      inForce = await reloadConfig(inForce, { ...service, load: () => next });
    });
  };
  if (main.pendingReload !== null) main.onReload(main.pendingReload);
  return () => inForce;
}

async function reportFailure(peer: RpcPeer, error: unknown): Promise<void> {
  process.exitCode = 1;
  await peer.call('failed', { message: describeError(error) } satisfies FailedInput).catch(() => {});
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
