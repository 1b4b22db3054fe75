import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A file of a tar archive. */
export interface TarFile {
  path: string;
  name: string;
  bytes: Buffer;
}

const BLOCK = 512;

/** Reads a `.tar.gz` below the data folder (POSIX ustar, with GNU and pax long names). */
export function readTar(data: string, archive: string): TarFile[] {
  const tar = gunzipSync(readFileSync(join(data, archive)));
  const files: TarFile[] = [];
  let longName: string | null = null;
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(field(124, 12), 8) || 0;
    const type = field(156, 1);
    const shortName = [field(345, 155), field(0, 100)].filter(Boolean).join('/');
    const bytes = tar.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (type === 'L') longName = bytes.toString('utf8').replace(/\0.*$/s, '');
    else if (type === 'x') longName = /\d+ path=(.*)\n/.exec(bytes.toString('utf8'))?.[1] ?? null;
    else {
      const path = longName ?? shortName;
      longName = null;
      if (type === '0' || type === '') files.push({ path, name: basename(path), bytes });
    }
  }
  return files;
}
