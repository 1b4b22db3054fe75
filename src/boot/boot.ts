import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Authenticator } from '../accounts/authenticator.ts';
import { hasAnyApiKey } from '../accounts/store.ts';
import type { BackupDeps, Backups } from '../backup/backups.ts';
import { registerBackupMetrics } from '../backup/metrics.ts';
import { openBilling } from '../billing/billing.ts';
import type { Config } from '../config/config.ts';
import { isMemoryShort, RECOMMENDED_MEMORY_MB } from '../config/memory-budget.ts';
import { requireNoStoredData } from '../data-folder/stored-data.ts';
import type { Database } from '../db/db.ts';
import { registerPoolMetrics } from '../db/metrics.ts';
import { NewerSchemaError } from '../db/migrate.ts';
import type { Deps } from '../deps.ts';
import type { RemoteEngines } from '../engines/remote/remote-engines.ts';
import { PolicyScreen } from '../guardrails/policy-screen.ts';
import { policyScorer } from '../inference/score-texts.ts';
import { registerIndexStateMetrics } from '../knowledge-bases/index-integrity/metrics.ts';
import { registerLeaseMetrics } from '../leases/metrics.ts';
import type { Logger } from '../lib/logger.ts';
import { addGauge } from '../lib/metrics.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { runPeriodically } from '../lib/run-periodically.ts';
import { settleAll } from '../lib/settle-all.ts';
import { retryThroughOutage, StoreUnavailableError } from '../lib/store-unavailable.ts';
import { VERSION } from '../lib/version.ts';
import { KeyRateLimiter } from '../limits/key-rate-limiter.ts';
import { MemoryLimitStore } from '../limits/memory-store.ts';
import { SharedLimitStore } from '../limits/shared-store.ts';
import { ModelBindings } from '../models/bindings/model-bindings.ts';
import { SharedModelFiles } from '../models/bindings/shared-model-files.ts';
import { EnginePool } from '../models/engine-pool.ts';
import { registerCacheMetrics } from '../prompt-cache/metrics.ts';
import { PromptCacheStatistics } from '../prompt-cache/prompt-cache-statistics.ts';
import { registerQueueMetrics } from '../queue/metrics.ts';
import { RequestLog } from '../requests/request-log.ts';
import { registerIndexMetrics } from '../search/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { openSecrets } from './secrets.ts';
import type { ProcessLifecycle } from './shutdown-order.ts';
import { requireOwnStores } from './store-identities.ts';
import { openBackups, openBlobs, openDatabase, openIndex, openJobs, openLease } from './stores.ts';

/** Interval at which the last uses of keys are stored. */
const KEY_USES_MS = 60_000;

/** The dependencies of the use cases, and the additional ones of the API. */
export interface Booted {
  deps: Deps;
  authenticator: Authenticator;
  /** Makes this process read a key, or the keys of an organization, again. */
  evictKeys(id: string): void;
  limiter: KeyRateLimiter;
  promptCache: PromptCacheStatistics;
  bindings: ModelBindings;
  /** Null unless `QUIRE_BACKUP_URL` is set. */
  backups: Backups | null;
  /** Null unless traces and metrics are exported. */
  telemetry: Telemetry | null;
  /** The engines that run in this process, and those of upstreams. */
  engines: EnginePool;
  /** Folder of the socket of the embedded database; null without one. */
  databaseSocket: string | null;
}

/** The main process of a service of several processes, for those that serve its API. */
export interface MainProcess {
  /** As `DatabaseSharing`. */
  socketFolder: string | null;
  engines: RemoteEngines;
}

/** Options of a start. */
export interface BootOptions {
  /** Role of the process. Only an `api` process may start a new instance. */
  role: 'api' | 'worker';
  /** Ends the wait for stores that do not respond. */
  signal: AbortSignal;
  /** Called while the start waits for a store. */
  onWait(reason: string): void;
  /** Label of the metrics of a service of several processes. */
  processName?: string;
  /** Present in processes that only serve the API. The main process has opened and checked the stores before. */
  main?: MainProcess;
}

/** Opens the configured stores and engines, dependencies first. Waits for stores that do not respond. */
export async function boot(
  config: Config,
  logger: Logger,
  lifecycle: ProcessLifecycle,
  options: BootOptions,
): Promise<Booted> {
  requireModelFiles(config);
  requireMemory(config, logger);
  const { db, secrets, blobs, chunks } = await openStores(config, logger, lifecycle, options);
  const backups = await openMainBackups(options, { config, db, blobs, logger, now: Date.now }, lifecycle);
  const lease = await openLease(db, logger, lifecycle);
  await followSchema({ db, lease, logger });
  const engines = new EnginePool(config, logger, lifecycle, options.main?.engines ?? null);
  // Independent; run concurrently to shorten startup.
  const [jobs, bindings] = await settleAll([
    openJobs({ db, lease, logger }, lifecycle),
    startBindings({ db, blobs, config, logger, engines, secrets }, lifecycle),
  ] as const);
  const models = bindings.registry;
  const billing = await lifecycle.start(
    'ledger',
    () => openBilling({ db, lease, logger, now: Date.now }),
    (started) => started.close(),
  );
  const metrics = new Registry();
  if (options.processName !== undefined) metrics.setDefaultLabels({ process: options.processName });
  collectDefaultMetrics({ register: metrics });
  registerStoreMetrics(metrics, { db, lease, chunks, backups });
  const promptCache = await openPromptCache({ db, lease, models, logger }, lifecycle);
  const limiter = await openLimiter({ db, lease, config, models, metrics, logger }, lifecycle);
  const telemetry = await openTelemetry(config, { metrics, logger }, lifecycle);
  const scoreTexts = policyScorer(models);
  const deps: Deps = {
    config,
    logger,
    db,
    lease,
    secrets,
    blobs,
    chunks,
    jobs,
    models,
    metrics,
    reserve: billing.reserve,
    recordUsage: telemetry === null ? billing.recordUsage : traceUsage(telemetry, billing),
    ...(await openRequestLog({ db, logger }, lifecycle)),
    countPrompt: registerCacheMetrics(metrics, models).countPrompt,
    chargeTokens: (caller, tokens) => limiter.chargeTokens(caller, tokens),
    screen: new PolicyScreen({ db, logger, scoreTexts, now: Date.now }),
    scoreTexts,
    now: Date.now,
  };
  const authenticator = await openAuthenticator(db, logger, lifecycle);
  const evictKeys = (id: string) => {
    authenticator.evict(id);
    billing.evictLimits(id);
  };
  const shared = { engines, backups, databaseSocket: db.socketFolder ?? null };
  return { deps, authenticator, evictKeys, limiter, promptCache, bindings, telemetry, ...shared };
}

/** The main process of a service makes the backups. */
async function openMainBackups(
  { main }: BootOptions,
  deps: BackupDeps,
  lifecycle: ProcessLifecycle,
): Promise<Backups | null> {
  return main === undefined ? openBackups(deps, lifecycle) : null;
}

/** Opens the stores, and checks that they belong together. */
async function openStores(
  config: Config,
  logger: Logger,
  lifecycle: ProcessLifecycle,
  options: BootOptions,
): Promise<Pick<Deps, 'secrets' | 'blobs' | 'chunks'> & { db: Database & { socketFolder?: string } }> {
  const processes = config.apiProcesses > 1 ? config.apiProcesses + 1 : 1;
  const { main } = options;
  const db = await openDatabase(config, logger, lifecycle, { processes, socketFolder: main?.socketFolder ?? null });
  await db.migrate();
  const secrets = await openSecrets(config);
  const blobs = await openBlobs(config, lifecycle);
  const throughOutage = <T>(open: () => Promise<T>) => awaitStores(open, logger, options);
  const chunks = await throughOutage(() => openIndex(config, lifecycle, db));
  const stores = { db, secrets, blobs, chunks };
  if (main !== undefined) return stores;
  if (options.role === 'api' && !(await hasAnyApiKey(db.sql)))
    await requireNoStoredData(config.dataDir, 'the database has no API key');
  await throughOutage(() => requireOwnStores({ ...stores, config }));
  return stores;
}

/**
 * Checks the schema again once the process is registered: until then, a newer version may contract it. A process that
 * was suspended exits when a newer version has contracted the schema.
 */
async function followSchema({ db, lease, logger }: Pick<Deps, 'db' | 'lease' | 'logger'>): Promise<void> {
  if (db.isExclusive) return;
  await db.migrate();
  lease.onRegained(() => {
    db.migrate().catch((error: unknown) => {
      logger.error({ error: describeError(error) }, 'database schema not checked');
      if (error instanceof NewerSchemaError) process.exit(1);
    });
  });
}

/** An outage of a store is not fixed by a restart of this process, so it waits, without a limit. */
function awaitStores<T>(open: () => Promise<T>, logger: Logger, { signal, onWait }: BootOptions): Promise<T> {
  return retryThroughOutage(open, {
    signal,
    maxMs: Number.POSITIVE_INFINITY,
    isOutage: (error) => error instanceof StoreUnavailableError,
    onOutage: (error) => {
      const reason = describeError(error);
      logger.warn({ error: reason }, 'store unavailable, the start waits for it');
      onWait(reason);
    },
  });
}

async function startBindings(
  deps: Pick<Deps, 'db' | 'blobs' | 'config' | 'logger' | 'secrets'> & { engines: EnginePool },
  lifecycle: ProcessLifecycle,
): Promise<ModelBindings> {
  const files = await lifecycle.start(
    'model files',
    () => SharedModelFiles.open(deps),
    (opened) => opened?.stop(),
  );
  return ModelBindings.start({ ...deps, lifecycle, files });
}

function openPromptCache(
  deps: Pick<Deps, 'db' | 'lease' | 'logger'> & { models: ModelBindings['registry'] },
  lifecycle: ProcessLifecycle,
): Promise<PromptCacheStatistics> {
  return lifecycle.start(
    'cache statistics',
    () => PromptCacheStatistics.start({ ...deps, now: Date.now }),
    (started) => started.stop(),
  );
}

async function openRequestLog(
  deps: Pick<Deps, 'db' | 'logger'>,
  lifecycle: ProcessLifecycle,
): Promise<Pick<Deps, 'logCall' | 'recordsContents'>> {
  const log = await lifecycle.start(
    'request log',
    () => new RequestLog({ ...deps, now: Date.now }),
    (started) => started.flush(),
  );
  return {
    logCall: (call) => log.add(call),
    recordsContents: (organizationId) => log.contents.isRecording(organizationId),
  };
}

function registerStoreMetrics(
  metrics: Registry,
  { db, lease, chunks, backups }: Pick<Deps, 'db' | 'lease' | 'chunks'> & { backups: Backups | null },
): void {
  if (backups !== null) registerBackupMetrics(metrics, backups, Date.now);
  addGauge(metrics, 'quire_build_info', 'Version of this process.', ['version']).set({ version: VERSION }, 1);
  registerPoolMetrics(metrics, db);
  registerLeaseMetrics(metrics, lease);
  registerQueueMetrics(metrics, db);
  registerIndexMetrics(metrics, chunks);
  registerIndexStateMetrics(metrics, db);
}

/** Records usage, and adds a span for each call. */
function traceUsage(telemetry: Telemetry, { recordUsage }: Pick<Deps, 'recordUsage'>): Deps['recordUsage'] {
  return (record, reservation) => {
    telemetry.traceCall(record);
    return recordUsage(record, reservation);
  };
}

/** Opens the export of traces and metrics. Loaded on demand: most services export nothing. */
async function openTelemetry(
  { otlp }: Config,
  parts: { metrics: Registry; logger: Logger },
  lifecycle: ProcessLifecycle,
): Promise<Telemetry | null> {
  if (otlp === null) return null;
  const module = await import('../telemetry/telemetry.ts');
  return lifecycle.start(
    'telemetry',
    () => new module.Telemetry(otlp, { ...parts, version: VERSION }),
    (telemetry) => telemetry.close(),
  );
}

/** Follows changes of keys by other processes, and stores the last uses of keys. */
async function openAuthenticator(db: Database, logger: Logger, lifecycle: ProcessLifecycle): Promise<Authenticator> {
  const authenticator = new Authenticator(db);
  authenticator.followChanges();
  const writeUses = () => authenticator.writeLastUses();
  await lifecycle.start(
    'key uses',
    () => runPeriodically(KEY_USES_MS, 'store last uses of keys', writeUses, logger),
    async (task) => {
      await task.stop();
      await writeUses();
    },
  );
  return authenticator;
}

/** Limits are shared where several processes can serve one database. */
async function openLimiter(
  {
    db,
    lease,
    config,
    models,
    metrics,
    logger,
  }: Pick<Deps, 'db' | 'lease' | 'config' | 'models' | 'metrics' | 'logger'>,
  lifecycle: ProcessLifecycle,
): Promise<KeyRateLimiter> {
  const store = await lifecycle.start(
    'rate limits',
    () => (db.isExclusive ? new MemoryLimitStore() : new SharedLimitStore({ db, lease, logger, metrics })),
    (started) => started.close(),
  );
  return new KeyRateLimiter({ store, defaults: config.rateLimits, models, metrics, logger });
}

function requireMemory({ memory }: Config, logger: Logger): void {
  if (!isMemoryShort(memory.limit)) return;
  const { bytes, source } = memory.limit;
  const limitMb = Math.floor(bytes / 2 ** 20);
  logger.warn({ limitMb, source, recommendedMb: RECOMMENDED_MEMORY_MB }, 'less memory than recommended');
}

/** Runs first, so that a mistyped path fails within milliseconds. */
function requireModelFiles(config: Config): void {
  for (const [id, { file }] of Object.entries(config.models)) {
    if (file === undefined || existsSync(resolve(file))) continue;
    throw new OperatorError(
      `There is no model file at ${resolve(file)}. Correct 'models.${id}.file' in the configuration file.`,
    );
  }
}
