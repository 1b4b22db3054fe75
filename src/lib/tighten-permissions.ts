import { chmodSync, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describeError } from './operator-error.ts';

/** Permission bits that a private folder and a private file may keep: 0700 and 0600, or fewer. */
const FOLDER_BITS = 0o700;
const FILE_BITS = 0o600;
const PERMISSION_BITS = 0o777;
/** One slice: 2 to 3 ms of system calls. 100,000 entries take 0.25 s in all if their inodes are cached. */
const ENTRIES_PER_SLICE = 1_000;

/** Counts of changed and failed paths. */
export interface TightenedPermissions {
  folders: number;
  files: number;
  failed: number;
  /** Error of the first failed path; null when none failed. */
  firstFailure: string | null;
}

/**
 * Removes group and other permissions from paths recursively: folders keep at most 0700, files at most 0600. Never adds
 * permissions. Does not follow symbolic links. Yields to the event loop between slices; an abort ends it early. Skips
 * paths that vanish. Idempotent.
 *
 * Files are never opened: closing any descriptor of a file drops the process's POSIX locks on it
 * (`data-folder/lock.ts`).
 */
export async function tightenPermissions(paths: readonly string[], signal: AbortSignal): Promise<TightenedPermissions> {
  const result: TightenedPermissions = { folders: 0, files: 0, failed: 0, firstFailure: null };
  // POSIX permissions do not exist on Windows.
  if (process.platform === 'win32') return result;
  const pending = [...paths];
  let inSlice = 0;
  for (let path = pending.pop(); path !== undefined && !signal.aborted; path = pending.pop()) {
    inSlice += 1;
    // Restricts a folder before reading it, so that other users cannot replace its entries by links.
    if (tightenOne(path, result)) for (const entry of readFolder(path, result)) pending.push(join(path, entry.name));
    if (inSlice % ENTRIES_PER_SLICE === 0) await nextTurn();
  }
  return result;
}

/** Restricts one path. Returns whether it is a folder. */
function tightenOne(path: string, result: TightenedPermissions): boolean {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return false;
    const isFolder = stats.isDirectory();
    const allowed = isFolder ? FOLDER_BITS : FILE_BITS;
    if ((stats.mode & PERMISSION_BITS & ~allowed) !== 0) {
      chmodSync(path, stats.mode & allowed);
      result[isFolder ? 'folders' : 'files'] += 1;
    }
    return isFolder;
  } catch (error) {
    noteFailure(error, result);
    return false;
  }
}

function readFolder(path: string, result: TightenedPermissions): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true }).filter((entry) => !entry.isSymbolicLink());
  } catch (error) {
    noteFailure(error, result);
    return [];
  }
}

function noteFailure(error: unknown, result: TightenedPermissions): void {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
  result.failed += 1;
  result.firstFailure ??= describeError(error);
}
