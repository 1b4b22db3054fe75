import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { explainRejectedWrite } from '../lib/store-unavailable.ts';
import { MAX_FILE_BYTES, tooLarge } from './limits.ts';

/** Files up to this size stay in memory; larger ones go to a temporary file. */
const MEMORY_BYTES = 1_048_576;

/** A file that a reader process can read. */
export interface SpooledFile {
  content: Uint8Array | { path: string };
  bytes: number;
  /** Removes the temporary file. May be called twice. */
  remove(): Promise<void>;
}

/**
 * Reads a stream into memory or, above 1 MiB, into a file with mode 0600 below `folder`. Throws `too_large` above 512
 * MiB, the signal's reason, or the error of the source; then no file remains.
 */
export async function spool(
  content: AsyncIterable<Uint8Array>,
  folder: string,
  signal: AbortSignal,
): Promise<SpooledFile> {
  const head: Uint8Array[] = [];
  let bytes = 0;
  const limited = (async function* () {
    for await (const piece of content) {
      signal.throwIfAborted();
      bytes += piece.length;
      if (bytes > MAX_FILE_BYTES) throw tooLarge(`it has more than ${MAX_FILE_BYTES.toLocaleString('en')} bytes`);
      yield piece;
    }
  })();
  while (bytes <= MEMORY_BYTES) {
    const next = await limited.next();
    if (next.done === true) return { content: Buffer.concat(head), bytes, remove: async () => {} };
    head.push(next.value);
  }
  const directory = await mkdtemp(join(folder, 'quire-extract-')).catch((error: unknown) => {
    throw explainRejectedWrite(`The temporary folder ${folder}`, error);
  });
  const remove = () => rm(directory, { recursive: true, force: true });
  const path = join(directory, 'content');
  try {
    const all = async function* () {
      yield* head.splice(0);
      yield* limited;
    };
    await pipeline(all, createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    await limited.return();
    await remove();
    throw signal.aborted ? signal.reason : explainRejectedWrite(`The temporary folder ${folder}`, error);
  }
  return { content: { path }, bytes, remove };
}
