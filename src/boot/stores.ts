import { join } from 'node:path';
import { type BackupDeps, Backups } from '../backup/backups.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openFolderStore } from '../blobs/folder-store.ts';
import type { Config } from '../config/config.ts';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import { requireNoStoredData } from '../data-folder/stored-data.ts';
import type { Database } from '../db/db.ts';
import { holdsDatabase, requireNoPglite } from '../db/embedded/cluster-folder.ts';
import { type EmbeddedDatabase, joinEmbedded, openEmbedded } from '../db/embedded/open-embedded.ts';
import { archiveSettings } from '../db/embedded/settings.ts';
import { openPostgres } from '../db/postgres.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import type { Logger } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { JobQueue, type JobQueueDeps } from '../queue/job-queue.ts';
import { ChunkIndex } from '../search/chunk-index.ts';
import { parseIndexUrl } from '../search/storage.ts';
import type { ProcessLifecycle } from './shutdown-order.ts';

/** Exit code of a process whose database does not stay up. Supervisors restart on it. */
const GAVE_UP_EXIT_CODE = 1;

/** How the processes of a service reach its database. */
export interface DatabaseSharing {
  /** Processes of this service; 1 by default. */
  processes?: number;
  /** Folder of the socket of the embedded PostgreSQL of the main process. Null or absent: this process runs it. */
  socketFolder?: string | null;
}

/** Connects to `QUIRE_DATABASE_URL` if set; otherwise starts the embedded PostgreSQL in the data folder. */
export function openDatabase(
  config: Config,
  logger: Logger,
  lifecycle: ProcessLifecycle,
  { processes = 1, socketFolder = null }: DatabaseSharing = {},
): Promise<Database & Partial<EmbeddedDatabase>> {
  const open = async (): Promise<Database & Partial<EmbeddedDatabase>> => {
    if (config.databaseUrl !== null) {
      requireNoBackupUrl(config);
      return openPostgres(config.databaseUrl, logger);
    }
    if (socketFolder !== null) return joinEmbedded(socketFolder, logger);
    const folder = join(config.dataDir, 'postgres');
    if (!(await holdsDatabase(folder))) {
      await requireNoPglite(config.dataDir);
      await requireNoStoredData(config.dataDir, `its database ${folder} is missing`, [SECRETS_KEY_FILE]);
    }
    const onGiveUp = (reason: string) => {
      logger.error({ folder, reason }, 'embedded database does not stay up: exiting');
      process.exit(GAVE_UP_EXIT_CODE);
    };
    const settings = config.backupUrl === null ? {} : archiveSettings(config.backupArchiveSeconds);
    return openEmbedded({ folder, logger, settings, onGiveUp, processes });
  };
  return lifecycle.start('database', open, (db) => db.close());
}

/** Throws an `OperatorError` when backups are configured for a database that this process does not run. */
export function requireNoBackupUrl({ backupUrl }: Pick<Config, 'backupUrl'>): void {
  if (backupUrl === null) return;
  throw new OperatorError(
    'QUIRE_BACKUP_URL backs up the embedded database, and QUIRE_DATABASE_URL names another one: back that up with pgBackRest, WAL-G or the backups of its provider, and unset QUIRE_BACKUP_URL.',
  );
}

/** Opens the backups of the embedded database; null when none are configured. */
export function openBackups(deps: BackupDeps, lifecycle: ProcessLifecycle): Promise<Backups | null> {
  return lifecycle.start(
    'backups',
    () => Backups.open(deps),
    (backups) => backups?.close(),
  );
}

/** Opens the blob store: S3 when `QUIRE_BLOBS_URL` is set, otherwise a folder of the data folder. */
export function openBlobs(config: Config, lifecycle: ProcessLifecycle): Promise<BlobStore> {
  const open = async () => {
    if (config.blobsUrl === null) return openFolderStore(join(config.dataDir, 'blobs'));
    // Loaded on demand: the S3 client is large, and most installations do not use it.
    const { openS3Store } = await import('../blobs/s3-store.ts');
    return openS3Store(config.blobsUrl);
  };
  return lifecycle.start('blobs', open, (blobs) => blobs.close());
}

/** Opens the search index: on S3 when `QUIRE_INDEX_URL` is set, otherwise in the data folder. */
export function openIndex(
  config: Config,
  lifecycle: ProcessLifecycle,
  db: Pick<Database, 'withLock' | 'isExclusive'>,
): Promise<ChunkIndex> {
  const open = async () => {
    const { indexCacheMb, indexMetadataCacheMb } = config.memory.budget;
    const caches = { indexMb: indexCacheMb, metadataMb: indexMetadataCacheMb };
    if (config.indexUrl === null) {
      const isShared = !db.isExclusive && config.apiProcesses > 1;
      return ChunkIndex.open(join(config.dataDir, 'index'), { caches, ...(isShared && { lock: db.withLock }) });
    }
    const { url, options } = parseIndexUrl(config.indexUrl);
    return ChunkIndex.open(url, { storage: options, caches, lock: db.withLock });
  };
  return lifecycle.start('index', open, (index) => index.close());
}

/** Begins the lease of this process. */
export function openLease(db: Database, logger: Logger, lifecycle: ProcessLifecycle): Promise<ProcessLease> {
  return lifecycle.start(
    'process lease',
    () => new ProcessLease({ db, logger }).start(),
    (lease) => lease.stop(),
  );
}

/** Opens the job queue. `worker.ts` declares the jobs. */
export function openJobs(deps: JobQueueDeps, lifecycle: ProcessLifecycle): Promise<JobQueue> {
  return lifecycle.start(
    'job queue',
    () => JobQueue.open(deps),
    (jobs) => jobs.stop(),
  );
}
