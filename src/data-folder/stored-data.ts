import { join } from 'node:path';
import { listFolder } from '../lib/create-folder.ts';
import { OperatorError } from '../lib/operator-error.ts';

/** Subfolder of `blobs/` with incomplete uploads (`blobs/folder-store.ts`). */
const UNFINISHED = 'unfinished';
/** Of `index/`: the LanceDB table of a knowledge base. */
const TABLE = /^kb_.*\.lance$/;
/** Prefix of a blob that only identifies the store (`blobs/blob-store.ts`). */
const MARKER_PREFIX = '000000000000';

/**
 * Throws an `OperatorError` when the data folder contains uploaded files, search indexes or one of `traces`: a new
 * database would not contain their records, and would create another bootstrap key. `problem` describes the missing
 * database.
 */
export async function requireNoStoredData(
  dataDir: string,
  problem: string,
  traces: readonly string[] = [],
): Promise<void> {
  const entries = await listFolder(dataDir);
  const present = traces.filter((name) => entries.includes(name));
  if (await holdsBlobs(join(dataDir, 'blobs'))) present.push('blobs');
  if ((await listFolder(join(dataDir, 'index'))).some((name) => TABLE.test(name))) present.push('index');
  if (present.length === 0) return;
  throw new OperatorError(
    `The data folder ${dataDir} holds data (${present.join(', ')}), but ${problem}. Restore the whole folder from a backup, or set QUIRE_DATABASE_URL if the database is elsewhere. To begin without the data instead, move the folder away or set QUIRE_DATA_DIR to another one.`,
  );
}

/** The folders of blobs remain when their last blob is deleted. */
async function holdsBlobs(folder: string): Promise<boolean> {
  for (const name of await listFolder(folder)) {
    const blobs = name === UNFINISHED ? [] : await listFolder(join(folder, name));
    if (blobs.some((blob) => !blob.startsWith(MARKER_PREFIX))) return true;
  }
  return false;
}
