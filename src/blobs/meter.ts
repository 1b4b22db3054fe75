import { createHash } from 'node:crypto';
import type { StoredBlob } from './blob-store.ts';

/** Counts and hashes the bytes that pass through it. For one source. */
export class Meter {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  /**
   * The source's pieces. Throws the signal's reason as soon as it aborts, also where the source would never give
   * another piece; the source is told to stop, and not waited for.
   */
  async *pass(source: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const pieces = source[Symbol.asyncIterator]();
    let isOver = false;
    try {
      for (;;) {
        const next = await unlessAborted(pieces.next(), signal);
        if (next.done) break;
        this.#bytes += next.value.byteLength;
        this.#hash.update(next.value);
        yield next.value;
      }
      isOver = true;
    } finally {
      if (!isOver) pieces.return?.().catch(() => {});
    }
  }

  /** What has passed. May be asked once. */
  result(): StoredBlob {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever is told of the abort does not wait for it, and what it fails with then is nobody's.
  promise.catch(() => {});
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
