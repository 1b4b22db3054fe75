import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A flag is missing, or the data is not where it was said to be. The message is a sentence for the caller. */
export class WrongCallError extends Error {}

/** Gives the data folder; throws `WrongCallError`, which names the first of `files` that does not lie below `folder`. */
export function requireFiles(folder: string | undefined, files: readonly string[]): string {
  if (folder === undefined)
    throw new WrongCallError('Name the data folder: --data DIR. eval/README.md says what is in it.');
  const missing = files.find((file) => !existsSync(join(folder, file)));
  if (missing === undefined) return folder;
  throw new WrongCallError(
    `'${folder}' is not the data folder: there is no ${missing} in it. eval/README.md says more.`,
  );
}

/** The text of a `.gz` file. */
export function readText(folder: string, file: string): string {
  return gunzipSync(readFileSync(join(folder, file))).toString('utf8');
}

/** The rows of a `.jsonl.gz` file. That they have the form `T` is the caller's word. */
export function readRows<T>(folder: string, file: string): T[] {
  return readText(folder, file)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T);
}
