import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { UsageError } from './command.ts';

/**
 * Returns `folder`. Throws `UsageError` when it is undefined, or names the first of `files` that is missing below it.
 */
export function requireDataFiles(folder: string | undefined, files: readonly string[]): string {
  if (folder === undefined)
    throw new UsageError('Name the data folder: --data DIR. eval/README.md lists the files in it.');
  const missing = files.find((file) => !existsSync(join(folder, file)));
  if (missing === undefined) return folder;
  throw new UsageError(`'${folder}' is not the data folder: there is no ${missing} in it. eval/README.md says more.`);
}

/** Reads the text of a `.gz` file. */
export function readGzipText(folder: string, file: string): string {
  return gunzipSync(readFileSync(join(folder, file))).toString('utf8');
}

/** Reads the rows of a `.jsonl.gz` file and skips blank lines. Rows are not validated against `T`. */
export function readJsonLines<T>(folder: string, file: string): T[] {
  return readGzipText(folder, file)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T);
}
