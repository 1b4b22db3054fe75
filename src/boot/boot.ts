import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Authenticator } from '../accounts/authenticator.ts';
import { firstStart } from '../accounts/first-start.ts';
import { Ledger } from '../billing/ledger.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openDisk } from '../blobs/disk.ts';
import type { Config } from '../config.ts';
import { requireNoStoredData } from '../data-folder/stored-data.ts';
import type { Database } from '../db/db.ts';
import { holdsDatabase } from '../db/embedded-folder.ts';
import { openPglite } from '../db/pglite.ts';
import { openPostgres } from '../db/postgres.ts';
import type { Deps } from '../deps.ts';
import type { Logger } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { PASS_ALL } from '../lib/screen.ts';
import { settleAll } from '../lib/settle-all.ts';
import { isMemoryShort, RECOMMENDED_MB } from '../memory-budget.ts';
import { ModelBindings } from '../models/bindings/model-bindings.ts';
import { MODEL_KINDS, type ModelKind } from '../models/catalogue.ts';
import { CacheCounters } from '../prompt-cache/cache-counters.ts';
import { JobQueue } from '../queue/job-queue.ts';
import { ChunkIndex } from '../search/chunk-index.ts';
import { storageOf } from '../search/storage.ts';
import type { ProcessLifecycle } from '../shutdown-order.ts';
import { openSecrets, SECRETS_KEY_FILE } from './secrets.ts';

/** What boot has opened: the dependencies of the use cases, and what the API needs beside them. */
export interface Booted {
  deps: Deps;
  authenticator: Authenticator;
  promptCache: CacheCounters;
  bindings: ModelBindings;
  /** The first key of a new instance, to be shown once; null on every later start. */
  firstKey: string | null;
}

/** What a process does, and the kinds of models that it starts engines for. */
export interface Role {
  /** Only an `api` process creates the first key: it is shown to the operator. */
  role: 'api' | 'worker';
  models: readonly ModelKind[];
}

const API_ROLE: Role = { role: 'api', models: MODEL_KINDS };

/** Opens the stores and engines that the configuration names, in the order in which they need each other. */
export async function boot(
  config: Config,
  logger: Logger,
  lifecycle: ProcessLifecycle,
  { role, models: kinds }: Role = API_ROLE,
): Promise<Booted> {
  requireModelFiles(config);
  requireMemory(config, logger);
  const db = await openDatabase(config, logger, lifecycle);
  await db.migrate();
  // Independent; run concurrently to shorten startup.
  const [jobs, bindings] = await settleAll([
    openJobs(db, logger, lifecycle),
    ModelBindings.start({ config, logger, lifecycle, db }, kinds),
  ] as const);
  const models = bindings.registry;
  const secrets = await openSecrets(config);
  const blobs = await openBlobs(config, lifecycle);
  const chunks = await openIndex(config, lifecycle);
  const requireNew = () => requireNoStoredData(config.dataDir, 'the database has no API key');
  const firstKey = role === 'worker' ? null : await firstStart({ db, requireNew }, config.bootstrapApiKey);
  const ledger = await lifecycle.start(
    'ledger',
    () => new Ledger(db, logger),
    (started) => started.flush(),
  );
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  const promptCache = new CacheCounters({ models, metrics, now: Date.now });
  const deps: Deps = {
    config,
    logger,
    db,
    secrets,
    blobs,
    chunks,
    jobs,
    models,
    metrics,
    recordUsage: (record) => ledger.record(record),
    countPrompt: (modelId, cachedTokens) => promptCache.count(modelId, cachedTokens),
    screen: PASS_ALL,
    now: Date.now,
  };
  return { deps, authenticator: new Authenticator(db), promptCache, bindings, firstKey };
}

function requireMemory({ memory }: Config, logger: Logger): void {
  if (!isMemoryShort(memory.limit)) return;
  const { bytes, source } = memory.limit;
  const limitMb = Math.floor(bytes / 2 ** 20);
  logger.warn({ limitMb, source, recommendedMb: RECOMMENDED_MB }, 'less memory than recommended');
}

/** Before anything is opened: a path that is mistyped should not cost the time of a start. */
function requireModelFiles(config: Config): void {
  for (const [id, { file }] of Object.entries(config.models)) {
    if (file === undefined || existsSync(resolve(file))) continue;
    throw new OperatorError(
      `There is no model file at ${resolve(file)}. Correct 'models.${id}.file' in the configuration file.`,
    );
  }
}

/** The database of the configuration: PostgreSQL where a URL is given, otherwise PGlite in the data folder. */
export function openDatabase(config: Config, logger: Logger, lifecycle: ProcessLifecycle): Promise<Database> {
  const open = async () => {
    if (config.databaseUrl !== null) return openPostgres(config.databaseUrl, logger);
    const folder = join(config.dataDir, 'db');
    if (!(await holdsDatabase(folder))) {
      await requireNoStoredData(config.dataDir, `its database ${folder} is missing`, [SECRETS_KEY_FILE]);
    }
    return openPglite(folder);
  };
  return lifecycle.start('database', open, (db) => db.close());
}

/** The store of files' bytes of the configuration: S3 where a URL is given, otherwise a folder in the data folder. */
export function openBlobs(config: Config, lifecycle: ProcessLifecycle): Promise<BlobStore> {
  const open = async () => {
    if (config.blobsUrl === null) return openDisk(join(config.dataDir, 'blobs'));
    // The client of S3 is large, and most instances have none.
    const { openS3 } = await import('../blobs/s3.ts');
    return openS3(config.blobsUrl);
  };
  return lifecycle.start('blobs', open, (blobs) => blobs.close());
}

/** The search index of the configuration: in an S3 store where a URL is given, otherwise in the data folder. */
export function openIndex(config: Config, lifecycle: ProcessLifecycle): Promise<ChunkIndex> {
  const open = async () => {
    const { indexCacheMb, indexMetadataCacheMb } = config.memory.budget;
    const caches = { indexMb: indexCacheMb, metadataMb: indexMetadataCacheMb };
    if (config.indexUrl === null) return ChunkIndex.open(join(config.dataDir, 'index'), {}, caches);
    const { url, options } = storageOf(config.indexUrl);
    return ChunkIndex.open(url, options, caches);
  };
  return lifecycle.start('index', open, (index) => index.close());
}

/** The job queue. `worker.ts` declares the jobs. */
export function openJobs(db: Database, logger: Logger, lifecycle: ProcessLifecycle): Promise<JobQueue> {
  return lifecycle.start(
    'job queue',
    () => JobQueue.open(db, logger),
    (jobs) => jobs.stop(),
  );
}
