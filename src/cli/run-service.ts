import type { AddressInfo } from 'node:net';
import { createApp } from '../app.ts';
import { type Booted, boot } from '../boot/boot.ts';
import { type Config, loadConfig } from '../config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import type { App } from '../http/app.ts';
import { drain } from '../http/drain.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, type Logger, openLogDestination } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import type { ModelBindings } from '../models/bindings/model-bindings.ts';
import { InitialPull } from '../models/downloads/initial-pull.ts';
import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../shutdown-order.ts';
import { VERSION } from '../version.ts';
import { startWorker } from '../worker.ts';
import { type CommandRequest, listenForCommands } from './command-socket.ts';
import { openOperatorApi } from './operator-api.ts';
import { exitIfSignalled, waitForSignal } from './signals.ts';
import type { StateDeps } from './state-command.ts';
import { STATE_COMMANDS } from './state-commands.ts';

/** Requests still running `drainMs` after SIGTERM are aborted. An aborted call ends after the current step of its engine. */
const DRAIN_BOUNDS = { drainMs: 30_000, abortMs: 10_000 };

/** Runs the service until SIGTERM or SIGINT. Throws an `OperatorError` when it cannot start. */
export async function runService(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger(config.logLevel, await openLogDestination(config.logFormat));
  for (const name of config.unknownVariables) logger.warn({ name }, 'unknown setting ignored');
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
  await exitIfSignalled();
  const stopped = waitForSignal(logger);
  try {
    await startService(config, logger, lifecycle);
    await stopped;
  } finally {
    await lifecycle.stop((part, error) =>
      logger.error({ part, reason: describeError(error) }, 'component failed to stop'),
    );
  }
}

/** Starts the components in order. `SHUTDOWN_ORDER` is the order of the stop. */
async function startService(config: Config, logger: Logger, lifecycle: ProcessLifecycle): Promise<void> {
  let state: StateDeps | null = null;
  const runCommand = ({ command, input }: CommandRequest) => {
    const run = STATE_COMMANDS[command];
    if (state === null) throw new OperatorError('The service is still starting; try again in a moment.');
    if (run === undefined) throw new OperatorError(`The running service does not know the command '${command}'.`);
    return run(state, input as Record<string, unknown>);
  };
  await lifecycle.start(
    'data folder',
    () => holdDataFolder(config.dataDir, logger),
    (held) => held.close(),
  );
  await lifecycle.start(
    'command socket',
    () => listenForCommands(config.dataDir, async (request) => runCommand(request)),
    (held) => held.close(),
  );
  const started = await boot(config, logger, lifecycle);
  const { deps, firstKey, bindings, evictKeys } = started;
  const callAdminApi = openOperatorApi({ ...deps, bindings, evictKeys });
  state = { ...deps, callAdminApi };
  const initialPull = new InitialPull({ config, logger, bind: (model) => bindGeneration(started.bindings, model) });
  await lifecycle.start(
    'worker',
    () => startWorker(deps),
    (worker) => worker.stop(),
  );
  const app = await lifecycle.start(
    'api',
    () => listen(config, started, initialPull),
    (listening) => drain(listening, logger, DRAIN_BOUNDS),
  );
  announce(baseUrl(config, app), firstKey);
  if (config.modelsPull === 'never' || started.bindings.stored.initialPullDone) return;
  if (started.bindings.defaultGenerationIds().length === 0) return;
  await lifecycle.start(
    'initial pull',
    () => announcePull(initialPull),
    () => initialPull.stop(),
  );
}

/** Binds the pulled model to every generation model id that has no explicit binding. */
function bindGeneration(bindings: ModelBindings, model: string): Promise<void> {
  const binding = { model, by: 'first-start' } as const;
  return bindings.rebind(Object.fromEntries(bindings.defaultGenerationIds().map((id) => [id, binding])), {
    initialPullDone: true,
  });
}

async function listen(
  config: Config,
  { deps, authenticator, evictKeys, limiter, promptCache, bindings }: Booted,
  initialPull: InitialPull,
): Promise<App> {
  const authenticate = (authorization: string | undefined) => authenticator.authenticate(authorization);
  const modelsPull = () => initialPull.status;
  const app = await createApp(
    { ...deps, authenticate, limiter, promptCache, bindings, evictKeys, modelsPull },
    VERSION,
  );
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    const where = `${config.host}:${config.port}`;
    if (code === 'EADDRINUSE')
      throw new OperatorError(
        `The address ${where} is in use. Set QUIRE_PORT to another port, or to 0 for a free one.`,
      );
    throw new OperatorError(`Quire cannot listen on ${where}: ${describeError(error)}`);
  }
  return app;
}

function baseUrl(config: Config, app: App): string {
  const { port } = app.server.address() as AddressInfo;
  const isAny = config.host === '0.0.0.0' || config.host === '::';
  const host = isAny ? '127.0.0.1' : config.host.includes(':') ? `[${config.host}]` : config.host;
  return `http://${host}:${port}`;
}

function announce(url: string, firstKey: string | null): void {
  if (firstKey !== null) {
    console.log(
      [
        '',
        'This is the first start. Your API key, shown once:',
        '',
        `  ${firstKey}`,
        '',
        'Try it:',
        '',
        `  curl -N ${url}/v1/chat/completions \\`,
        `    -H 'Authorization: Bearer ${firstKey}' \\`,
        "    -H 'Content-Type: application/json' \\",
        `    -d '{"model": "general-8b", "stream": true, "messages": [{"role": "user", "content": "Hello! What can you do?"}]}'`,
        '',
      ].join('\n'),
    );
  }
  console.log(`Quire is ready at ${url} (API documentation: ${url}/docs)`);
}

function announcePull(initialPull: InitialPull): void {
  const model = initialPull.start();
  if (model === null) return;
  console.log(
    `Downloading a larger model, ${model}, in the background. It replaces the bundled model when complete. Progress: GET /readyz. QUIRE_MODELS_PULL=never disables the download.`,
  );
}
