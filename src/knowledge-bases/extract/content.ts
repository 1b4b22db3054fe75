import { createReadStream } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { tooLarge } from './bounds.ts';
import { decoderOf, encodingOf, requireText } from './decode.ts';
import type { ReadJob } from './extracted-document.ts';

/** Bytes from which the encoding of a text is told that is read in pieces. */
const HEAD_BYTES = 65_536;
/** Bytes of a piece of a file. */
const PIECE_BYTES = 262_144;

/** All bytes of a file. Throws `too_large` for more than `maxBytes`. */
export async function wholeContent(job: ReadJob, maxBytes: number): Promise<Uint8Array> {
  if (job.bytes > maxBytes) {
    throw tooLarge(`files of this format may have ${(maxBytes / 1_048_576).toLocaleString('en')} MiB`);
  }
  return 'path' in job.content ? readFile(job.content.path) : job.content;
}

/** Bytes of a file from `start` up to, not including, `end`; fewer where it ends. */
export async function contentRange(job: ReadJob, start: number, end: number): Promise<Uint8Array> {
  if (!('path' in job.content)) return job.content.subarray(start, end);
  const file = await open(job.content.path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(0, end - start)), { position: start });
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** A file's bytes in pieces. */
export async function* contentPieces(job: ReadJob): AsyncGenerator<Uint8Array> {
  if ('path' in job.content) {
    yield* createReadStream(job.content.path, { highWaterMark: PIECE_BYTES });
    return;
  }
  for (let at = 0; at < job.content.length; at += PIECE_BYTES) yield job.content.subarray(at, at + PIECE_BYTES);
}

/** A text in pieces, decoded. Throws `invalid_file` for what is none. */
export async function* textPieces(job: ReadJob): AsyncGenerator<string> {
  const decoder = decoderOf(encodingOf(await contentRange(job, 0, HEAD_BYTES), job.charset));
  let isFirst = true;
  for await (const piece of contentPieces(job)) {
    const text = decoder.decode(piece);
    if (isFirst) requireText(text);
    isFirst = false;
    yield text;
  }
  yield decoder.decode();
}
