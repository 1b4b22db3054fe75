import { closeSync, openSync, readdirSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { isQuireEntry } from './entries.ts';

/** Only its lock matters, not its existence: the file stays after the service ends, and is never removed. */
export const LOCK_FILE = 'quire.lock';

/** Interval of the check of the file, and maximum time for which its removal or replacement stays unnoticed. */
const CHECK_INTERVAL_MS = 1_000;
/** Three checks. A service whose lock file was removed has exited by then. */
const GRACE_MS = 3_000;
/** SQLite's `SQLITE_BUSY`. */
const BUSY = 5;
/**
 * Time for which SQLite waits for the lock. SQLite locks in steps (shared, reserved, exclusive): without a wait, two
 * processes that start at the same moment can each see the first step of the other, and both are rejected. The process
 * without the reserved lock gives way within microseconds.
 */
const LOCK_TIMEOUT_MS = 250;

/** State reported by a lock. */
export interface LockOptions {
  logger: Logger;
  /** Called at most once, if the locked file has left its path: another process may have locked another one. */
  onLost: () => void;
  /** Time in which a service whose lock file was removed has to exit; for tests. */
  graceMs?: number;
}

/** Error message of the second process. */
export function folderInUse(folder: string): OperatorError {
  return new OperatorError(
    `Another Quire is running on ${folder}: 'fuser ${join(folder, LOCK_FILE)}' shows its process. Stop it, or set QUIRE_DATA_DIR to another folder.`,
  );
}

/**
 * An exclusive lock of the operating system on an existing data folder. The kernel releases it when this process ends
 * for any reason; children do not inherit it. SQLite takes it (`fcntl` on POSIX, `LockFileEx` on Windows), because Node
 * has no function for it.
 *
 * On POSIX, the lock is lost when this process opens the lock file elsewhere and closes it. Therefore no other code may
 * open it.
 */
export class FolderLock {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #inode: string | null;
  readonly #onLost: () => void;
  readonly #timer: NodeJS.Timeout;

  private constructor(database: DatabaseSync, path: string, inode: string | null, onLost: () => void) {
    this.#database = database;
    this.#path = path;
    this.#inode = inode;
    this.#onLost = onLost;
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref();
  }

  /** Throws an `OperatorError` immediately when another process holds the folder. */
  static async take(folder: string, { logger, onLost, graceMs = GRACE_MS }: LockOptions): Promise<FolderLock> {
    const path = join(folder, LOCK_FILE);
    const isNew = createFile(folder, path);
    const inode = readInode(path);
    const database = openLocked(folder, path);
    const lock = new FolderLock(database, path, inode, onLost);
    try {
      // In a folder with data, a missing lock file may have been removed under a running service, which exits after its
      // next check.
      if (isNew && readdirSync(folder).some((name) => name !== LOCK_FILE && isQuireEntry(name))) {
        logger.info(
          { path, waitMs: graceMs },
          'lock file created in a folder with data: waiting for a service that may end',
        );
        await delay(graceMs);
      }
      if (inode === null || readInode(path) !== inode) throw folderInUse(folder);
      return lock;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /** Keeps the file: removing it could remove one that another process has just locked. Idempotent. */
  release(): void {
    clearInterval(this.#timer);
    if (this.#database.isOpen) this.#database.close();
  }

  async #check(): Promise<void> {
    const stats = await stat(this.#path, { bigint: true }).catch((error: NodeJS.ErrnoException) => error);
    // The inode number of a locked file is not reused, so an equal number means the same file.
    const isThere = stats instanceof Error ? !isAbsent(stats) : `${stats.dev}:${stats.ino}` === this.#inode;
    if (isThere || !this.#database.isOpen) return;
    clearInterval(this.#timer);
    this.#onLost();
  }
}

/** False when the file exists. */
function createFile(folder: string, path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new OperatorError(`The data folder ${folder} cannot be used: ${describeError(error)}`);
  }
}

/** Opens the file with an exclusive lock. Nothing is written to it, so a full disk does not matter. */
function openLocked(folder: string, path: string): DatabaseSync {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
    // A journal in memory: a journal file would appear in the folder.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if ((error as { errcode?: unknown }).errcode === BUSY) throw folderInUse(folder);
    throw new OperatorError(
      `${path} cannot be locked: ${describeError(error)}. The data folder must lie on a disk that supports file locks; if the file is damaged, delete it while no Quire runs on the folder.`,
    );
  }
}

/** Device and inode number; null where there is no file. */
function readInode(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

const isAbsent = ({ code }: NodeJS.ErrnoException): boolean => code === 'ENOENT' || code === 'ENOTDIR';
