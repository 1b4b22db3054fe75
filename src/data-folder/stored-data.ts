import { join } from 'node:path';
import { listFolder } from '../lib/create-folder.ts';
import { OperatorError } from '../lib/operator-error.ts';

/** Subfolder of `blobs/` with incomplete uploads (`blobs/folder-store.ts`). */
const UNFINISHED = 'unfinished';
/** Of `index/`: a table of LanceDB. */
const TABLE = '.lance';

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
  const found = traces.filter((name) => entries.includes(name));
  if (await holdsBlobs(join(dataDir, 'blobs'))) found.push('blobs');
  if ((await listFolder(join(dataDir, 'index'))).some((name) => name.endsWith(TABLE))) found.push('index');
  if (found.length === 0) return;
  throw new OperatorError(
    `The data folder ${dataDir} holds data (${found.join(', ')}), but ${problem}. Restore the whole folder from a backup, or set QUIRE_DATABASE_URL if the database is elsewhere. To begin without the data instead, move the folder away or set QUIRE_DATA_DIR to another one.`,
  );
}

/** The folders of blobs remain when their last blob is deleted. */
async function holdsBlobs(folder: string): Promise<boolean> {
  for (const name of await listFolder(folder)) {
    if (name !== UNFINISHED && (await listFolder(join(folder, name))).length > 0) return true;
  }
  return false;
}
