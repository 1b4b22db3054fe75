import { join } from 'node:path';
import type { Deps } from '../deps.ts';
import { nextCronTime } from '../lib/next-cron-time.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { rejectOnAbort } from '../lib/reject-on-abort.ts';
import { type BackupProgress, createBackup } from './create-backup.ts';
import type { BackupManifest } from './manifest.ts';
import { openTarget } from './open-target.ts';
import { hasGapBehind } from './plan-restore.ts';
import { pruneBackups } from './prune-backups.ts';
import { BackupRepository } from './repository.ts';
import { readInventory } from './restore-backup.ts';
import { selectSystem, switchWal } from './store.ts';
import type { BackupTarget } from './target.ts';
import { WalArchiver } from './wal-archiver.ts';

const MEGABYTE = 1_000_000;
/** Pause after a failed scheduled backup: each try copies the whole database. */
const RETRY_MS = 10 * 60_000;
/** Time limit of the last run of the archiver in a process that stops. */
const LAST_ARCHIVE_MS = 10_000;

/** Dependencies of backups. */
export type BackupDeps = Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> & {
  config: Pick<Deps['config'], 'dataDir' | (`backup${string}` & keyof Deps['config'])>;
};

/** The backups of the embedded database of this process, and the archive of its WAL. */
export class Backups {
  readonly archiver: WalArchiver;
  readonly #deps: BackupDeps;
  readonly #target: BackupTarget;
  readonly #stopping = new AbortController();
  /** The repository that is open or being opened. */
  #repository: Promise<BackupRepository> | null = null;
  /** Undefined until the target was listed. */
  #last: BackupManifest | null | undefined = undefined;
  #creating: Promise<BackupManifest> | null = null;
  #retryAtMs = 0;
  progress: BackupProgress | null = null;
  failures = { base: 0, wal: 0 };
  copiedBytes = 0;

  private constructor(deps: BackupDeps, target: BackupTarget) {
    this.#deps = deps;
    this.#target = target;
    this.archiver = new WalArchiver({
      ...deps,
      cluster: join(deps.config.dataDir, 'postgres'),
      maxPendingBytes: deps.config.backupMaxPendingMegabytes * MEGABYTE,
      openRepository: (signal) => this.openRepository(signal),
    });
  }

  /**
   * Opens the target of `QUIRE_BACKUP_URL`; null when it is not set. Throws an `OperatorError` for a wrong passphrase
   * or schedule and for the target of another database. A target that does not respond is tried again later.
   */
  static async open(deps: BackupDeps): Promise<Backups | null> {
    const { backupUrl, backupSchedule } = deps.config;
    if (backupUrl === null) return null;
    if (backupSchedule !== null) requireSchedule(backupSchedule, deps.now());
    const backups = new Backups(deps, await openTarget(backupUrl));
    try {
      await backups.openRepository(backups.#stopping.signal);
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      deps.logger.error({ reason: describeError(error) }, 'backup target does not respond: trying again later');
    }
    return backups;
  }

  /** The newest base backup; null when there is none or the target was not listed yet. */
  get last(): BackupManifest | null {
    return this.#last ?? null;
  }

  /** When the next scheduled backup is due, Unix milliseconds; null without a schedule. */
  get dueMs(): number | null {
    const { backupSchedule } = this.#deps.config;
    if (backupSchedule === null || this.#last === undefined) return null;
    return this.#last === null ? 0 : nextCronTime(backupSchedule, new Date(this.#last.startedAt)).getTime();
  }

  /** Opens the repository. Concurrent calls share one claim: another claim would replace the salt of the key. */
  openRepository(signal: AbortSignal): Promise<BackupRepository> {
    this.#repository ??= this.#claimRepository().catch((error: unknown) => {
      this.#repository = null;
      throw error;
    });
    return rejectOnAbort(this.#repository, signal);
  }

  async #claimRepository(): Promise<BackupRepository> {
    const { signal } = this.#stopping;
    const repository = await BackupRepository.open(this.#target, this.#deps.config.backupPassphrase, signal);
    await repository.claim(await selectSystem(this.#deps.db), signal);
    return repository;
  }

  /** Archives the WAL that is complete. */
  async archive(signal: AbortSignal): Promise<void> {
    try {
      await this.archiver.archive(signal);
    } catch (error) {
      if (!signal.aborted) this.failures.wal += 1;
      throw error;
    }
  }

  /** Makes a backup when one is due, or when WAL is missing since the last one. */
  async createIfDue(signal: AbortSignal): Promise<void> {
    const { now } = this.#deps;
    if (this.#last === undefined) this.#last = await this.#findLast(signal);
    const dueMs = this.dueMs ?? Number.POSITIVE_INFINITY;
    const hasGap = this.archiver.hasGap && this.#last !== null;
    if (now() < this.#retryAtMs || (now() < dueMs && !hasGap) || this.#creating !== null) return;
    await this.create(signal);
  }

  /** A process that was killed before it made the backup behind a gap leaves the gap. */
  async #findLast(signal: AbortSignal): Promise<BackupManifest | null> {
    const inventory = await readInventory(await this.openRepository(signal), signal);
    const last = inventory.backups.at(-1) ?? null;
    if (last !== null && hasGapBehind(inventory, last)) this.archiver.hasGap = true;
    return last;
  }

  /** Makes a backup now, and deletes outdated ones. Throws an `OperatorError` while another one is made. */
  async create(signal: AbortSignal = this.#stopping.signal): Promise<BackupManifest> {
    if (this.#creating !== null) throw new OperatorError('A backup is being made; try again when it is complete.');
    this.#creating = this.#create(AbortSignal.any([signal, this.#stopping.signal]));
    try {
      return await this.#creating;
    } catch (error) {
      if (!signal.aborted) this.failures.base += 1;
      this.#retryAtMs = this.#deps.now() + RETRY_MS;
      throw error;
    } finally {
      this.#creating = null;
      this.progress = null;
    }
  }

  async #create(signal: AbortSignal): Promise<BackupManifest> {
    const { config } = this.#deps;
    const repository = await this.openRepository(signal);
    const deps = {
      ...this.#deps,
      repository,
      archiver: this.archiver,
      dataDir: config.dataDir,
      cluster: join(config.dataDir, 'postgres'),
      onProgress: (progress: BackupProgress) => {
        this.copiedBytes += progress.doneBytes - (this.progress?.doneBytes ?? 0);
        this.progress = progress;
      },
    };
    const { droppedSegments } = this.archiver;
    const manifest = await createBackup(deps, signal);
    const isBehindGap = hasGapBehind(await readInventory(repository, signal), manifest);
    // The inventory does not show WAL that was dropped while it was read.
    this.archiver.hasGap = isBehindGap || this.archiver.droppedSegments > droppedSegments;
    this.#last = manifest;
    this.#retryAtMs = 0;
    await pruneBackups(deps, repository, config.backupKeep, signal);
    return manifest;
  }

  /** Ends a running backup, and archives the last WAL. */
  async close(): Promise<void> {
    const { db, logger } = this.#deps;
    this.#stopping.abort();
    await this.#creating?.catch(() => {});
    try {
      await switchWal(db);
      await this.archiver.archive(AbortSignal.timeout(LAST_ARCHIVE_MS), 0);
    } catch (error) {
      logger.warn({ reason: describeError(error) }, 'last WAL not archived: the next start archives it');
    }
    await this.#target.close();
  }
}

function requireSchedule(schedule: string, nowMs: number): void {
  try {
    nextCronTime(schedule, new Date(nowMs));
  } catch (error) {
    throw new OperatorError(`QUIRE_BACKUP_SCHEDULE is no cron expression: ${describeError(error)}`);
  }
}
