import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { LruMap } from '../../lib/lru-map.ts';
import type { LocalDocument } from './find-documents.ts';

/** SHA-256 of files by path: a watched folder is compared again after each change. */
const hashes = new LruMap<string, { stamp: string; sha256: string }>(100_000);
/** The times of a file are too coarse to tell two writes apart that follow each other closely. */
const MIN_CACHED_AGE_MS = 2_000;

const LF = 10;
/** ASCII whitespace. */
const SPACES: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);

/** Whether a document equals its uploaded file. Throws when the document cannot be read. */
export async function isSameContent(
  { path }: LocalDocument,
  uploaded: { bytes: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { size, mtimeMs } = await stat(path);
  if (size !== uploaded.bytes) return false;
  const stamp = await fileStamp(path);
  const cached = hashes.get(path);
  if (cached?.stamp === stamp) return cached.sha256 === uploaded.sha256;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk);
  const sha256 = hash.digest('hex');
  if (Date.now() - mtimeMs > MIN_CACHED_AGE_MS) hashes.set(path, { stamp, sha256 });
  return sha256 === uploaded.sha256;
}

/** Describes a file by inode, size and times, which change with its content; empty for one that does not exist. */
export async function fileStamp(path: string): Promise<string> {
  const stats = await stat(path, { bigint: true }).catch(() => null);
  return stats === null ? '' : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}

/** Counts the documents that the service extracts from a file: non-blank lines of JSONL, otherwise 1. At least 1. */
export async function countDocuments({ path }: LocalDocument): Promise<number> {
  if (extname(path).toLowerCase() !== '.jsonl') return 1;
  let lines = 0;
  let isBlank = true;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    for (const byte of chunk) {
      if (byte === LF) isBlank = true;
      else if (isBlank && !SPACES.has(byte)) {
        isBlank = false;
        lines += 1;
      }
    }
  }
  return Math.max(1, lines);
}
