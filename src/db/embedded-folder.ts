import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { namesIn } from '../lib/create-folder.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { describeFree, freeBytes, MIN_FREE_BYTES } from '../lib/writable-folder.ts';

/** A PostgreSQL server without one of these does not start, or would be made again over what is left of it. */
const ESSENTIAL = ['PG_VERSION', 'global/pg_control', 'base', 'pg_wal', 'pg_xact', 'postgresql.conf', 'pg_hba.conf'];
const VERSION = /^\d+\s*$/;

/** A new database takes 40 MB; a service that starts with less than `MIN_FREE_BYTES` is not ready. */
const NEW_DATABASE_BYTES = 64 * 1024 * 1024 + MIN_FREE_BYTES;

/** How an operator gets out of a damaged folder. */
export const waysOut = (folder: string): string =>
  `Restore the whole data folder from a backup. To begin without the data instead, move ${dirname(folder)} away, or set QUIRE_DATA_DIR to another folder.`;

/**
 * Whether the folder holds a database; false where it does not exist or is empty. Throws a `OperatorError` that names what is missing when it
 * holds anything else: data is never replaced by a new database.
 */
export async function holdsDatabase(folder: string): Promise<boolean> {
  const names = await namesIn(folder);
  if (names.every((name) => name === 'lost+found')) return false;
  const missing: string[] = [];
  for (const name of ESSENTIAL) if (!(await exists(join(folder, name)))) missing.push(name);
  if (missing.length > 0) throw damaged(folder, `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  if (!VERSION.test(await readFile(join(folder, 'PG_VERSION'), 'latin1')))
    throw damaged(folder, 'PG_VERSION names no version');
  return true;
}

/** Throws an `OperatorError` when the disk has no space for a new database. `parent` is the folder that it will lie in, which exists. */
export async function requireSpaceForDatabase(parent: string): Promise<void> {
  const free = await freeBytes(parent);
  if (free >= NEW_DATABASE_BYTES) return;
  throw new OperatorError(
    `A new database needs ${Math.ceil(NEW_DATABASE_BYTES / 1_000_000)} MB, and ${describeFree(parent, free)}. Free some, or set QUIRE_DATA_DIR to a folder on another disk.`,
  );
}

function damaged(folder: string, why: string): OperatorError {
  return new OperatorError(`The embedded database in ${folder} is damaged: ${why}. ${waysOut(folder)}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
