import { createHash } from 'node:crypto';
import { currentOrganization } from '../lib/organization-context.ts';
import { rejectOnAbort } from '../lib/reject-on-abort.ts';
import { nextSlice } from '../lib/time-slices.ts';
import type { StoredBlob } from './blob-store.ts';

/** Bytes of a stream that are hashed and written at once. Further ones wait for time slices of their organization. */
const SMALL_BYTES = 262_144;

/** Counts and hashes the bytes of one stream. */
export class Meter {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  /**
   * Passes the stream through. Throws the reason of the signal as soon as it aborts, even while the source is stalled;
   * the source is asked to stop, but not awaited.
   */
  async *pass(source: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const iterator = source[Symbol.asyncIterator]();
    let isComplete = false;
    try {
      for (;;) {
        const next = await rejectOnAbort(iterator.next(), signal);
        if (next.done) break;
        if (this.#bytes >= SMALL_BYTES) await nextSlice(currentOrganization());
        this.#bytes += next.value.byteLength;
        this.#hash.update(next.value);
        yield next.value;
      }
      isComplete = true;
    } finally {
      if (!isComplete) iterator.return?.().catch(() => {});
    }
  }

  /** Returns size and hash of the stream. Call it once, after the end. */
  result(): StoredBlob {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}
