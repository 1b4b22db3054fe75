import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const BLOCK = 512;
const REGULAR_FILES = new Set(['0', '\0', '']);

/** A regular file of an archive. */
export interface ArchivedFile {
  name: string;
  text: string;
}

/** The JSON files of a `.tar.gz`, in the order of their names. Names longer than 100 bytes are cut, as tar does. */
export function readArchive(file: string): ArchivedFile[] {
  const bytes = gunzipSync(readFileSync(file));
  const found: ArchivedFile[] = [];
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const field = (from: number, length: number): string =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(field(124, 12).trim() || '0', 8);
    const name = [field(345, 155), field(0, 100)].filter((part) => part !== '').join('/');
    if (REGULAR_FILES.has(field(156, 1)) && name.endsWith('.json')) {
      found.push({ name, text: bytes.toString('utf8', at + BLOCK, at + BLOCK + size) });
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}
