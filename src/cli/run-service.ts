import { bootstrapAccounts } from '../accounts/bootstrap.ts';
import { type Booted, boot } from '../boot/boot.ts';
import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { isConsoleBuilt } from '../console/routes.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { WaitingServer } from '../http/waiting-server.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, type Logger, openLogDestination } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { VERSION } from '../lib/version.ts';
import { bindOffered, defaultRetrievalIds } from '../models/bindings/bind-generation.ts';
import { InitialPull, type InitialPullStatus } from '../models/downloads/initial-pull.ts';
import { createSetupInvitation } from '../users/members/setup-invitation.ts';
import { defineJobs, startWorker } from '../worker.ts';
import { type CommandRequest, SERVICE_INFO, type ServiceInfo } from './command-client.ts';
import { listenForCommands } from './command-socket.ts';
import { canAsk, offerPull } from './offer-pull.ts';
import { openOperatorApi } from './operator-api.ts';
import { startApiProcesses } from './processes/start-api-processes.ts';
import { reloadOnHangup } from './reload.ts';
import { requireSharedStores } from './require-shared-stores.ts';
import { baseUrl, boundPort, requireFreeAddress, startApi } from './serve-api.ts';
import { exitIfSignalled, waitForSignal } from './signals.ts';
import { StartOutput } from './start-output.ts';
import type { StateDeps } from './state-command.ts';
import { STATE_COMMANDS } from './state-commands.ts';

/** Name of this process in logs and metrics, where others serve the API. */
const MAIN = 'main';

/** A process that starts, and how. */
interface StartingService {
  command: 'serve' | 'api';
  /** Aborts when the process is stopped. */
  signal: AbortSignal;
  config: Config;
  logger: Logger;
  lifecycle: ProcessLifecycle;
  output: StartOutput;
  /** The configuration in force, after reloads. */
  effectiveConfig(): Config;
}

/**
 * Runs the service until a signal; `api` without its background work. `flags` are settings of the command line. Throws
 * an `OperatorError` when it cannot start.
 */
export async function runService(flags: Record<string, string>, command: 'serve' | 'api'): Promise<void> {
  const config = loadConfig(undefined, flags);
  if (command === 'api') requireSharedStores(config, command);
  let inForce = config;
  const processName = config.apiProcesses > 1 ? MAIN : null;
  const logger = createLogger(config.logLevel, await openLogDestination(config.logFormat), processName);
  for (const name of config.unknownVariables) logger.warn({ name }, 'unknown setting ignored');
  // A terminal that has been closed fails every write.
  process.stdout.on('error', () => {});
  const output = new StartOutput(process.stdout);
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER, (part) => output.showStage(part));
  await exitIfSignalled();
  const stopping = new AbortController();
  const stopped = waitForSignal(logger).then(() => stopping.abort());
  const { signal } = stopping;
  let endReload = () => {};
  try {
    const started = await startService({
      ...{ command, config, logger, lifecycle, output, signal },
      effectiveConfig: () => inForce,
    });
    const load = () => loadConfig(undefined, flags);
    const onApplied = (applied: Config) => {
      inForce = applied;
      started.reloadProcesses(applied);
    };
    endReload = reloadOnHangup(config, { ...started.booted, logger, load, onApplied });
    await stopped;
  } catch (error) {
    // A process that was stopped while it waited for its stores.
    if (error !== signal.reason) throw error;
  } finally {
    endReload();
    await lifecycle.stop((part, error) =>
      logger.error({ part, reason: describeError(error) }, 'component failed to stop'),
    );
  }
  output.showStopped();
}

/** What commands on the socket reach: the facts of the service, and its state once it has started. */
interface CommandTarget {
  service: ServiceInfo;
  state: StateDeps | null;
}

/** Takes the data folder, whose commands reach this process from now on. */
async function holdFolder({ config, logger, lifecycle }: StartingService): Promise<CommandTarget> {
  const target: CommandTarget = { service: { version: VERSION, pid: process.pid, url: null }, state: null };
  const runCommand = async ({ command, input }: CommandRequest) => {
    if (command === SERVICE_INFO) return target.service;
    const run = STATE_COMMANDS[command];
    if (target.state === null) throw new OperatorError('The service is still starting; try again in a moment.');
    if (run === undefined) throw new OperatorError(`The running service does not know the command '${command}'.`);
    return run(target.state, input as Record<string, unknown>);
  };
  await lifecycle.start(
    'data folder',
    () => holdDataFolder(config.dataDir, logger),
    (held) => held.close(),
  );
  await lifecycle.start(
    'command socket',
    () => listenForCommands(config.dataDir, runCommand),
    (held) => held.close(),
  );
  return target;
}

/** Boots; while a store does not respond, the address answers 503. */
async function bootWaiting({ config, logger, lifecycle, signal }: StartingService): Promise<Booted> {
  const server = new WaitingServer(config);
  try {
    const onWait = (reason: string) => server.wait(reason);
    const name = config.apiProcesses > 1 ? { processName: MAIN } : {};
    return await boot(config, logger, lifecycle, { role: 'api', signal, onWait, ...name });
  } finally {
    await server.close();
  }
}

/** A started service. */
interface StartedService {
  booted: Booted;
  /** Applies a configuration in the other processes. */
  reloadProcesses(config: Config): void;
}

/** Starts the components in order. `SHUTDOWN_ORDER` is the order of the stop. */
async function startService(starting: StartingService): Promise<StartedService> {
  const { config, lifecycle, output, effectiveConfig } = starting;
  const target = await holdFolder(starting);
  await requireFreeAddress(config);
  const booted = await bootWaiting(starting);
  const { deps, bindings, backups, evictKeys } = booted;
  const state = { ...deps, backups, callAdminApi: openOperatorApi({ ...deps, bindings, evictKeys }) };
  target.state = state;
  const initialPull = await startInitialPull(booted, starting);
  if (starting.command === 'serve') {
    await lifecycle.start(
      'worker',
      () => startWorker({ ...deps, backups }, booted.telemetry),
      (worker) => worker.stop(),
    );
  } else await defineJobs(deps.jobs);
  const facts = { effectiveConfig, modelsPull: () => initialPull?.status ?? null };
  const processes = config.apiProcesses > 1 ? await startApiProcesses(booted, lifecycle, facts) : null;
  if (processes !== null) target.state = { ...state, listProcesses: () => processes.list() };
  const port = processes?.port ?? boundPort(await startApi(config, booted, lifecycle, facts));
  const url = baseUrl(config.host, port);
  target.service.url = url;
  const key = await bootstrapAccounts(deps, config.bootstrapApiKey);
  const isKnown = key?.secret == null && config.bootstrapApiKey !== null;
  const setupToken = isConsoleBuilt() ? await createSetupInvitation(deps) : null;
  if (setupToken !== null) output.showSetup(url, setupToken);
  output.showReady(url, isKnown ? null : key);
  initialPull?.ask();
  return { booted, reloadProcesses: (applied) => processes?.reload(applied) };
}

/**
 * Begins to download a larger model, where the configuration allows it and none is bound. At a terminal, `ask` asks
 * first. Null: nothing is downloaded.
 */
async function startInitialPull(
  { bindings }: Booted,
  { config, logger, lifecycle, output }: StartingService,
): Promise<{ readonly status: InitialPullStatus | null; ask(): void } | null> {
  if (config.modelsPull === 'never' || bindings.stored.initialPullDone) return null;
  if (bindings.defaultGenerationIds().length === 0) return null;
  const bind = (models: readonly string[]) => bindOffered(bindings, models, 'first-start');
  const retrievalIds = defaultRetrievalIds(bindings);
  const onOutcome = (status: InitialPullStatus) => output.showPull(status);
  const initialPull = new InitialPull({ config, logger, bind, retrievalIds, onOutcome });
  const asking = new AbortController();
  await lifecycle.start(
    'initial pull',
    () => (canAsk() ? null : initialPull.start()),
    () => {
      asking.abort();
      return initialPull.stop();
    },
  );
  const decline = () => bindings.rebind({}, { initialPullDone: true });
  const { stdin: input, stdout } = process;
  return {
    get status() {
      return initialPull.status;
    },
    ask: () => {
      if (!canAsk()) return;
      const showUnreachable = (model: string) => output.showPull(unreachableHub(model));
      offerPull({ pull: initialPull, input, output: stdout, decline, showUnreachable, signal: asking.signal }).catch(
        (error: unknown) => logger.warn({ reason: describeError(error) }, 'question of the first start failed'),
      );
    },
  };
}

/** The outcome that is shown where the hub does not answer. */
function unreachableHub(model: string): InitialPullStatus {
  return { model, state: 'failed', received_bytes: 0, total_bytes: null, detail: null };
}
