import type { StoredBlob } from '../blobs/blob-store.ts';
import { Meter } from '../blobs/meter.ts';
import { DamagedObjectError } from './codec.ts';

/**
 * Size at which a pack ends: one object for many small files. A new cluster has 1,300 files of 20 KB on average, and
 * each object costs an fsync or a request.
 */
const PACK_BYTES = 32 * 1024 * 1024;

/** Groups files, in their order, so that each group but the last has at least `PACK_BYTES`. */
export function groupIntoPacks<File extends { bytes: number }>(files: readonly File[]): File[][] {
  const packs: File[][] = [];
  let left = 0;
  for (const file of files) {
    if (left <= 0) {
      packs.push([]);
      left = PACK_BYTES;
    }
    packs.at(-1)?.push(file);
    left -= file.bytes;
  }
  return packs;
}

/**
 * Splits the content of a pack into its files, and passes each to `take`, which must read it to its end. Throws a
 * `DamagedObjectError` when a file or the pack has another size or hash.
 */
export async function readPack<File extends StoredBlob>(
  pack: { name: string; files: readonly File[]; source: AsyncIterable<Uint8Array> },
  take: (file: File, content: AsyncIterable<Uint8Array>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const damaged = () => new DamagedObjectError(`${pack.name} is damaged`);
  const iterator = pack.source[Symbol.asyncIterator]();
  let pending: Uint8Array = new Uint8Array();
  async function* cut(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      while (pending.byteLength === 0) {
        const next = await iterator.next();
        if (next.done) throw damaged();
        pending = next.value;
      }
      const part = pending.subarray(0, left);
      pending = pending.subarray(part.byteLength);
      left -= part.byteLength;
      yield part;
    }
  }
  try {
    for (const file of pack.files) {
      const meter = new Meter();
      await take(file, meter.pass(cut(file.bytes), signal));
      if (meter.result().sha256 !== file.sha256) throw damaged();
    }
    // Reads to the end: the checksum of the object is behind its content.
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      if (next.value.byteLength > 0) throw damaged();
    }
  } finally {
    await iterator.return?.();
  }
}
