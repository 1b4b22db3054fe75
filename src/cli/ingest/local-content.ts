import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { LocalDocument } from './find-documents.ts';

const LF = 10;
/** ASCII whitespace. */
const SPACES: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);

/** Whether a document equals its uploaded file. Throws when the document cannot be read. */
export async function isSameContent(
  { path }: LocalDocument,
  uploaded: { bytes: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  if ((await stat(path)).size !== uploaded.bytes) return false;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk);
  return hash.digest('hex') === uploaded.sha256;
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
