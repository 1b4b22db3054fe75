import type { Config } from '../config/config.ts';
import { OperatorError } from '../lib/operator-error.ts';

/** Throws an `OperatorError` unless a process of one role can share its stores with the others. */
export function requireSharedStores(
  { databaseUrl, blobsUrl, indexUrl }: Pick<Config, 'databaseUrl' | 'blobsUrl' | 'indexUrl'>,
  command: 'api' | 'worker',
): void {
  if (databaseUrl === null) {
    throw new OperatorError(
      `The embedded database serves one process, and 'quire serve' does all of its work. Set QUIRE_DATABASE_URL to run 'quire ${command}'.`,
    );
  }
  if (blobsUrl === null || indexUrl === null) {
    throw new OperatorError(
      `'quire ${command}' needs the files and the search index of the other processes, and its data folder is its own. Set QUIRE_BLOBS_URL and QUIRE_INDEX_URL to those of the others.`,
    );
  }
}
