import { readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { type ArchivedFile, filesOf } from '../extraction/archives.ts';

/** The archives of documents below the data folder. */
export const ARCHIVES = ['readability', 'terrier_mini', 'tika', 'unstructured'].map(
  (name) => `documents/${name}.tar.gz`,
);
/** The endings that files may have: those of the interface. */
const TAKEN: ReadonlySet<string> = new Set(['.jsonl', '.pdf', '.txt', '.md', '.csv', '.docx', '.html']);

/** A file that a user might upload. */
export interface InputFile extends ArchivedFile {
  /** The archive that it is in; `archives` for those themselves. */
  collection: string;
  /** The ending of its name, in lower case; `others` for all that are not taken. */
  format: string;
}

/** Every file that there is: those in the archives, and the archives as they lie. */
export function inputFiles(data: string): InputFile[] {
  const inside = ARCHIVES.flatMap((archive) => {
    const collection = basename(archive, '.tar.gz');
    return filesOf(data, archive).map((file) => ({ ...file, collection }));
  });
  const archives = ARCHIVES.map((path) => {
    return { path, name: basename(path), bytes: readFileSync(join(data, path)), collection: 'archives' };
  });
  return [...inside, ...archives].map((file) => ({ ...file, format: formatOf(file.name) }));
}

function formatOf(name: string): string {
  const ending = extname(name).toLowerCase();
  return TAKEN.has(ending) ? ending : 'others';
}
