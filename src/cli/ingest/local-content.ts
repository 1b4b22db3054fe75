import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { LocalDocument } from './find-documents.ts';

const LF = 10;
/** The white space of ASCII. */
const SPACES: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);

/** Whether a document's bytes are still those that were uploaded. Throws when they cannot be read. */
export async function isSameContent(
  { path }: LocalDocument,
  uploaded: { bytes: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  if ((await stat(path)).size !== uploaded.bytes) return false;
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { signal })) hash.update(piece);
  return hash.digest('hex') === uploaded.sha256;
}

/** How many documents the service makes of a file: of JSONL one for each line that is not blank. At least one. */
export async function countDocuments({ path }: LocalDocument): Promise<number> {
  if (extname(path).toLowerCase() !== '.jsonl') return 1;
  let lines = 0;
  let isBlank = true;
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    for (const byte of piece) {
      if (byte === LF) isBlank = true;
      else if (isBlank && !SPACES.has(byte)) {
        isBlank = false;
        lines += 1;
      }
    }
  }
  return Math.max(1, lines);
}
