import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { MAX_FILE_BYTES, tooLarge } from './bounds.ts';

/** Bytes that are kept in memory. More lie in a temporary file while the document is read. */
const MEMORY_BYTES = 1_048_576;

/** A file's bytes where a reader can read them. */
export interface Spooled {
  content: Uint8Array | { path: string };
  bytes: number;
  /** Removes the temporary file. May be called twice. */
  remove(): Promise<void>;
}

/**
 * Takes a file's bytes as they come: a small file into memory, a larger one into a file below `folder`, which only we can read. Throws
 * `too_large` for one of more than 512 MB, the signal's reason, or what the source throws; then nothing is left.
 */
export async function spool(content: AsyncIterable<Uint8Array>, folder: string, signal: AbortSignal): Promise<Spooled> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  const pieces = content[Symbol.asyncIterator]();
  try {
    for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
      signal.throwIfAborted();
      kept.push(piece.value);
      bytes += piece.value.length;
      if (bytes > MEMORY_BYTES)
        return await toDisk(kept.splice(0), { [Symbol.asyncIterator]: () => pieces }, folder, signal);
    }
  } catch (error) {
    await pieces.return?.();
    throw error;
  }
  return { content: Buffer.concat(kept), bytes, remove: async () => {} };
}

async function toDisk(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
  folder: string,
  signal: AbortSignal,
): Promise<Spooled> {
  const own = await mkdtemp(join(folder, 'quire-extract-'));
  const remove = () => rm(own, { recursive: true, force: true });
  const path = join(own, 'content');
  const file = createWriteStream(path, { mode: 0o600 });
  let bytes = 0;
  const write = async (piece: Uint8Array) => {
    signal.throwIfAborted();
    bytes += piece.length;
    if (bytes > MAX_FILE_BYTES) throw tooLarge(`it has more than ${MAX_FILE_BYTES.toLocaleString('en')} bytes`);
    if (!file.write(piece)) await once(file, 'drain', { signal });
  };
  try {
    for (const piece of first) await write(piece);
    for await (const piece of rest) await write(piece);
    file.end();
    await finished(file, { signal });
  } catch (error) {
    file.destroy();
    await remove();
    throw error;
  }
  return { content: { path }, bytes, remove };
}
