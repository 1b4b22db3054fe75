import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { requireOwnStores } from '../boot/store-identities.ts';
import { openBackups, openBlobs, openDatabase, openIndex } from '../boot/stores.ts';
import type { Config } from '../config/config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { prepareDataFolder } from '../data-folder/prepare.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, type Logger, openLogDestination } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { ModelBindings } from '../models/bindings/model-bindings.ts';
import { SharedModelFiles } from '../models/bindings/shared-model-files.ts';
import { listenForCommands } from './command-socket.ts';
import { openOperatorApi } from './operator-api.ts';
import type { StateDeps, StateNeeds } from './state-command.ts';

/** Opens the database in this process for `run`. Holds the lock of the data folder until `run` ends. */
export async function runLocally<T>(
  config: Config,
  { needsModels = false, needsStores = false, isReadOnly = false }: StateNeeds,
  run: (deps: StateDeps) => Promise<T>,
): Promise<T> {
  const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
  // Startup messages at level info would clutter the output of a command.
  const logger = createLogger(
    config.logLevel === 'info' ? 'warn' : config.logLevel,
    await openLogDestination(config.logFormat),
  );
  try {
    // Several processes can share an external PostgreSQL; the embedded one belongs to one process.
    if (config.databaseUrl === null) await lockDataFolder(config, logger, lifecycle);
    else if (!isReadOnly) prepareDataFolder(config.dataDir);
    const db = await openDatabase(config, logger, lifecycle);
    await db.migrate();
    const blobs = await openBlobs(config, lifecycle);
    const chunks = await openIndex(config, lifecycle, db);
    if (needsStores) await requireOwnStores({ db, blobs, chunks, secrets: null, config });
    const backups = await openBackups({ config, db, blobs, logger, now: Date.now }, lifecycle);
    const openModels = needsModels ? ModelBindings.start : ModelBindings.open;
    // A command that changes bindings stores which file it binds; one that only reads must not begin to fetch files.
    const files = needsModels ? null : SharedModelFiles.open({ db, blobs, config, logger });
    const bindings = await openModels({ config, logger, lifecycle, db, files });
    const models = bindings.registry;
    const evictKeys = () => {};
    const callAdminApi = openOperatorApi({ db, models, config, logger, now: Date.now, bindings, evictKeys });
    return await run({ db, blobs, chunks, config, models, backups, callAdminApi });
  } finally {
    await lifecycle.stop(() => {});
  }
}

async function lockDataFolder(config: Config, logger: Logger, lifecycle: ProcessLifecycle): Promise<void> {
  await lifecycle.start(
    'data folder',
    () => holdDataFolder(config.dataDir, logger),
    (held) => held.close(),
  );
  const rejectCommand = async () => {
    throw new OperatorError('Another command is using the data folder; try again in a moment.');
  };
  await lifecycle.start(
    'command socket',
    () => listenForCommands(config.dataDir, rejectCommand),
    (socket) => socket.close(),
  );
}
