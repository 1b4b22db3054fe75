import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Size and hash of a stored blob. */
export interface StoredBlob {
  bytes: number;
  /** SHA-256, hexadecimal. */
  sha256: string;
}

/** Byte range of a blob, zero-based. `end` is inclusive, as in `Range` headers. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Storage of immutable blobs by key, in a local folder or an S3-compatible store. Both pass
 * `test/blob-conformance.test.ts`. Memory use does not depend on the size of a blob.
 */
export interface BlobStore {
  readonly kind: 'folder' | 's3';
  /**
   * Stores `source` under a key of `newBlobKey`. Durable against process and machine crashes once resolved. When the
   * source throws or the signal aborts, stores nothing and throws that error.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredBlob>;
  /** Reads a blob, or a range within it. Throws `BlobNotFoundError` when the key does not exist. */
  read(key: string, range: ByteRange | null, signal: AbortSignal): Promise<Readable>;
  /** Resolves with the size in bytes; null when the key does not exist. */
  size(key: string, signal: AbortSignal): Promise<number | null>;
  /** Deletes a blob and the remains of an interrupted `put`. Idempotent. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /**
   * Health check: resolves when the store accepts writes. Otherwise throws an Error with a message for the operator.
   */
  check(signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

/** The key does not exist. */
export class BlobNotFoundError extends Error {
  override readonly name = 'BlobNotFoundError';
  constructor(key: string) {
    super(`no blob with key ${key}`);
  }
}

const KEY = /^[0-9a-f]{32}$/;

/** Returns a new key: 32 random hexadecimal digits, which distribute blobs evenly over subfolders. */
export function newBlobKey(): string {
  return randomBytes(16).toString('hex');
}

/** First digits of markers' keys: a folder with nothing else counts as empty (`data-folder/stored-data.ts`). */
const MARKER_PREFIX = '000000000000';

/** Returns the key of a new blob that only identifies its store. */
export function newMarkerKey(): string {
  return MARKER_PREFIX + newBlobKey().slice(MARKER_PREFIX.length);
}

/** Throws unless the string is a key. Keys become parts of paths. */
export function requireBlobKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`invalid blob key: ${JSON.stringify(key)}`);
}
