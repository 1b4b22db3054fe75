import { join, resolve } from 'node:path';
import { openSecrets } from '../boot/secrets.ts';
import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { requireOwnStores } from '../boot/store-identities.ts';
import { openBlobs, openIndex } from '../boot/stores.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import type { Database } from '../db/db.ts';
import { holdsDatabase, requireNoPglite } from '../db/embedded/cluster-folder.ts';
import { startEmbedded } from '../db/embedded/open-embedded.ts';
import { type MovedTable, moveDatabase } from '../db/move/move-database.ts';
import { openPool, type PostgresServer, serverAt, withoutPassword } from '../db/postgres.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, type Logger, openLogDestination } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { ProgressLine } from './progress-line.ts';

/** Where a database is: a URL, or a data folder with the embedded one. */
type Place = { url: string } | { dataDir: string };

/** What the command prints. */
export interface MoveResult {
  tables: MovedTable[];
  /** What to do next, one sentence a line. */
  next: string[];
}

/** Parses the value of `--to`. */
export function parsePlace(to: string, dataDir: string): Place {
  if (/^postgres(ql)?:\/\//.test(to)) return { url: to };
  return { dataDir: to === 'embedded' ? dataDir : resolve(to) };
}

/**
 * Moves the configured database to another place. Throws an `OperatorError` when a process uses the source, or the
 * target holds other data.
 */
export async function moveTo(to: string): Promise<MoveResult> {
  const config = loadConfig();
  const from: Place = config.databaseUrl === null ? { dataDir: config.dataDir } : { url: config.databaseUrl };
  const target = parsePlace(to, config.dataDir);
  if (placeName(from) === placeName(target)) throw new OperatorError(`The database already is at ${placeName(from)}.`);
  const logger = createLogger(
    config.logLevel === 'info' ? 'warn' : config.logLevel,
    await openLogDestination(config.logFormat),
  );
  const lifecycle: ProcessLifecycle = new Lifecycle(SHUTDOWN_ORDER);
  const progress = new ProgressLine(process.stderr);
  try {
    const source = await openPlace(from, { lifecycle, logger, isSource: true });
    const server = await openPlace(target, { lifecycle, logger, isSource: false });
    await checkStores(source, config, { lifecycle, logger });
    const tables = await moveDatabase({
      source,
      target: server,
      logger,
      onProgress: ({ movedBytes, totalBytes }) => progress.show({ receivedBytes: movedBytes, totalBytes }),
      beforeEnd: () => checkStores(server, config, { lifecycle, logger, isMoved: true }),
    });
    return { tables, next: describeNext(from, target, config) };
  } finally {
    progress.end();
    await lifecycle.stop(() => {});
  }
}

const placeName = (place: Place): string => ('url' in place ? withoutPassword(place.url) : place.dataDir);

async function openPlace(
  place: Place,
  { lifecycle, logger, isSource }: { lifecycle: ProcessLifecycle; logger: Logger; isSource: boolean },
): Promise<PostgresServer> {
  if ('url' in place) return serverAt(place.url);
  const { dataDir } = place;
  const folder = join(dataDir, 'postgres');
  await requireNoPglite(dataDir);
  if (isSource && !(await holdsDatabase(folder))) {
    throw new OperatorError(`There is no database in the data folder ${dataDir}. Set QUIRE_DATA_DIR to its folder.`);
  }
  await lifecycle.start(
    'data folder',
    () => holdDataFolder(dataDir, logger),
    (held) => held.close(),
  );
  const onGiveUp = (reason: string) => {
    logger.error({ folder, reason }, 'embedded database does not stay up: exiting');
    process.exit(1);
  };
  return lifecycle.start(
    'database',
    () => startEmbedded({ folder, logger, onGiveUp }),
    (server) => server.stop(),
  );
}

/**
 * Checks that files, search index and secrets key of this configuration belong to the database. They become those of a
 * moved database that had none recorded, as an embedded one: a process with others does not start on it.
 */
async function checkStores(
  server: PostgresServer,
  config: Config,
  { lifecycle, logger, isMoved = false }: { lifecycle: ProcessLifecycle; logger: Logger; isMoved?: boolean },
): Promise<void> {
  if (server.isExclusive) return;
  const db: Database = await lifecycle.start(
    'database',
    () => openPool(server, logger),
    (opened) => opened.close(),
  );
  const blobs = await openBlobs(config, lifecycle);
  const chunks = await openIndex(config, lifecycle, db);
  const secrets = isMoved ? await openSecrets(config) : null;
  await requireOwnStores({ db, blobs, chunks, secrets, config });
}

/** Describes the settings for the next start. */
function describeNext(from: Place, target: Place, { dataDir, blobsUrl, indexUrl, secretsKey }: Config): string[] {
  const isLocal = [blobsUrl, indexUrl, secretsKey].includes(null);
  const source = `The source, ${placeName(from)}, was not changed. Delete it when the service works without it.`;
  if ('url' in target) {
    return [
      `Set QUIRE_DATABASE_URL to the URL of ${placeName(target)}.`,
      ...(isLocal
        ? [
            `Keep QUIRE_DATA_DIR=${dataDir}: ${localStores({ blobsUrl, indexUrl, secretsKey })} stay there. Several processes need QUIRE_BLOBS_URL, QUIRE_INDEX_URL and QUIRE_SECRETS_KEY.`,
          ]
        : ['Keep QUIRE_BLOBS_URL, QUIRE_INDEX_URL and QUIRE_SECRETS_KEY.']),
      source,
    ];
  }
  const isElsewhere = target.dataDir !== dataDir;
  return [
    'Remove QUIRE_DATABASE_URL: the database of the data folder is used without it.',
    ...(isElsewhere ? [`Set QUIRE_DATA_DIR to ${target.dataDir}.`] : []),
    ...(isElsewhere && isLocal
      ? [`Before the start, copy ${localStores({ blobsUrl, indexUrl, secretsKey })} from ${dataDir} to it.`]
      : []),
    ...(blobsUrl === null && indexUrl === null ? [] : ['Keep QUIRE_BLOBS_URL and QUIRE_INDEX_URL.']),
    source,
  ];
}

function localStores({ blobsUrl, indexUrl, secretsKey }: Pick<Config, 'blobsUrl' | 'indexUrl' | 'secretsKey'>): string {
  const names = [
    ...(blobsUrl === null ? ['blobs'] : []),
    ...(indexUrl === null ? ['index'] : []),
    ...(secretsKey === null ? ['secrets.key'] : []),
  ];
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1');
}
