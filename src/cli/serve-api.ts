import { type AddressInfo, createServer } from 'node:net';
import { type AppDeps, createApp } from '../app.ts';
import type { Booted } from '../boot/boot.ts';
import type { ProcessLifecycle } from '../boot/shutdown-order.ts';
import type { Config } from '../config/config.ts';
import { CONSOLE_FOLDER } from '../console/routes.ts';
import { watchEngines } from '../health/watch-engines.ts';
import type { App } from '../http/app.ts';
import { drain } from '../http/drain.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { VERSION } from '../lib/version.ts';

/** Aborts requests that run `drainMs` after the delay. An aborted call ends after the current step of its engine. */
const DRAIN_BOUNDS = { drainMs: 30_000, abortMs: 10_000 };

interface Address extends Pick<Config, 'host' | 'port'> {
  /** Whether other processes of this service listen on the port, too. */
  isShared?: boolean;
}

/** The longest time in which the API stops. */
export function maxDrainMs({ drainDelay }: Pick<Config, 'drainDelay'>): number {
  return drainDelay * 1_000 + DRAIN_BOUNDS.drainMs + DRAIN_BOUNDS.abortMs;
}

/**
 * Throws an `OperatorError` when the address cannot be bound, or not by several processes: before a first start creates
 * anything.
 */
export async function requireFreeAddress({
  host,
  port,
  apiProcesses = 1,
}: Address & { apiProcesses?: number }): Promise<void> {
  // Without `reusePort`, which would succeed beside another service.
  await tryAddress({ host, port });
  if (apiProcesses > 1) await tryAddress({ host, port, isShared: true });
}

async function tryAddress(address: Address): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  try {
    server.once('error', reject).listen(listenOptions(address), resolve);
    await promise;
    await new Promise((closed) => server.close(closed));
  } catch (error) {
    throw cannotListen(address, error);
  }
}

/** What an API is told besides its dependencies. */
export type ApiFacts = Pick<AppDeps, 'effectiveConfig' | 'modelsPull' | 'readMetrics' | 'listProcesses'>;

/** Starts the checks of the engines and the API, and binds its address. */
export async function startApi(
  config: Config,
  { deps, bindings, evictKeys, authenticator, limiter, promptCache, telemetry }: Booted,
  lifecycle: ProcessLifecycle,
  facts: ApiFacts,
): Promise<App> {
  await lifecycle.start(
    'engine checks',
    () => watchEngines(deps),
    (checks) => checks.stop(),
  );
  const served: AppDeps = {
    ...deps,
    ...facts,
    authenticateKey: (authorization) => authenticator.authenticate(authorization),
    authenticateKeyId: (id) => authenticator.authenticateId(id),
    limiter,
    limitStore: limiter.deps.store,
    promptCache,
    bindings,
    evictKeys,
    telemetry,
    consoleFolder: CONSOLE_FOLDER,
  };
  const address = { host: config.host, port: config.port, isShared: config.apiProcesses > 1 };
  return lifecycle.start(
    'api',
    () => listenOn(address, () => createApp(served, VERSION)),
    (listening) => drain(listening, deps.logger, { ...DRAIN_BOUNDS, delayMs: config.drainDelay * 1_000 }),
  );
}

/** Creates an application and binds its address. Throws an `OperatorError` when the address cannot be bound. */
export async function listenOn(address: Address, create: () => Promise<App>): Promise<App> {
  const app = await create();
  try {
    await app.listen(listenOptions(address));
  } catch (error) {
    await app.close();
    throw cannotListen(address, error);
  }
  return app;
}

function listenOptions({ host, port, isShared = false }: Address): { host: string; port: number; reusePort?: true } {
  // Each process has a queue of connections, among which the kernel distributes them.
  return { host, port, ...(isShared && { reusePort: true }) };
}

/** The port on which an application listens. */
export function boundPort(app: App): number {
  return (app.server.address() as AddressInfo).port;
}

/** The URL at which a client on this machine reaches the API. */
export function baseUrl(host: string, port: number): string {
  const isAny = host === '0.0.0.0' || host === '::';
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Codes of systems without `SO_REUSEPORT`, or without its distribution of connections. */
const NO_REUSE_PORT = ['ENOTSUP', 'EINVAL', 'ENOPROTOOPT'];

function cannotListen({ host, port, isShared }: Address, error: unknown): OperatorError {
  const where = `${host}:${port}`;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (isShared === true && NO_REUSE_PORT.includes(code))
    return new OperatorError(
      `Several processes cannot share a port on this system (${process.platform}). Set QUIRE_API_PROCESSES to 1, or run one service per port behind a load balancer.`,
    );
  if (code === 'EADDRINUSE')
    return new OperatorError(`The address ${where} is in use. Set QUIRE_PORT to another port, or to 0 for a free one.`);
  return new OperatorError(`Quire cannot listen on ${where}: ${describeError(error)}`);
}
