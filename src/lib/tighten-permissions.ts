import { chmodSync, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describeError } from './operator-error.ts';

/** Permission bits that a private folder and a private file may keep: 0700 and 0600, or fewer. */
const FOLDER_BITS = 0o700;
const FILE_BITS = 0o600;
const PERMISSION_BITS = 0o777;
/** One slice: 2 to 3 ms of system calls. 100,000 entries take 0.25 s in all where the kernel has their inodes cached. */
const ENTRIES_PER_SLICE = 1_000;

/** What `tightenPermissions` has changed, and what it could not change. */
export interface TightenedPermissions {
  folders: number;
  files: number;
  failed: number;
  /** Why the first of those that failed did; null where none did. */
  firstFailure: string | null;
}

/**
 * Takes the rights of group and others from these paths and from everything below them: folders keep at most 0700, files at most
 * 0600. Never gives a right. Does not follow symbolic links. Works in slices, so that the event loop goes on; an abort ends it early.
 * Paths that vanish meanwhile are skipped. May be called twice.
 *
 * Files are never opened: closing any descriptor of a file drops the process's POSIX locks on it (`data-folder/lock.ts`).
 */
export async function tightenPermissions(paths: readonly string[], signal: AbortSignal): Promise<TightenedPermissions> {
  const result: TightenedPermissions = { folders: 0, files: 0, failed: 0, firstFailure: null };
  // POSIX permissions do not exist on Windows.
  if (process.platform === 'win32') return result;
  const pending = [...paths];
  let inSlice = 0;
  for (let path = pending.pop(); path !== undefined && !signal.aborted; path = pending.pop()) {
    inSlice += 1;
    // A folder is closed before its entries are read: nobody else can exchange them for links from then on.
    if (tightenOne(path, result)) for (const entry of readFolder(path, result)) pending.push(join(path, entry.name));
    if (inSlice % ENTRIES_PER_SLICE === 0) await nextTurn();
  }
  return result;
}

/** True: it is a folder. */
function tightenOne(path: string, result: TightenedPermissions): boolean {
  try {
    const found = lstatSync(path);
    if (found.isSymbolicLink()) return false;
    const isFolder = found.isDirectory();
    const allowed = isFolder ? FOLDER_BITS : FILE_BITS;
    if ((found.mode & PERMISSION_BITS & ~allowed) !== 0) {
      chmodSync(path, found.mode & allowed);
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
