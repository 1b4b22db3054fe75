import { readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { readTar, type TarFile } from '../extraction/archives.ts';

/** Archives of documents below the data folder. */
export const ARCHIVES = ['readability', 'terrier_mini', 'tika', 'unstructured'].map(
  (name) => `documents/${name}.tar.gz`,
);
/** Accepted file extensions. */
const TAKEN: ReadonlySet<string> = new Set([
  '.jsonl',
  '.pdf',
  '.txt',
  '.md',
  '.csv',
  '.docx',
  '.html',
  '.xlsx',
  '.pptx',
  '.ods',
  '.odp',
  '.odt',
  '.epub',
  '.zip',
  '.rtf',
  '.eml',
  '.msg',
  '.json',
  '.png',
  '.jpg',
  '.jpeg',
  '.tif',
  '.tiff',
  '.webp',
]);

/** A file to upload. */
export interface InputFile extends TarFile {
  /** Archive that contains it; `archives` for the archives themselves. */
  collection: string;
  /** Lower-case file extension; `others` for unsupported ones. */
  format: string;
}

/** All files of the archives, and the archives themselves. */
export function inputFiles(data: string): InputFile[] {
  const inside = ARCHIVES.flatMap((archive) => {
    const collection = basename(archive, '.tar.gz');
    return readTar(data, archive).map((file) => ({ ...file, collection }));
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
