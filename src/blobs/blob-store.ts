import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/** What `put` has stored. */
export interface StoredBlob {
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

/** Bytes of a blob, from 0; `end` is the last one, as in the header `Range`. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Bytes under keys: a folder of this machine, or a store that speaks S3. Both pass `test/blob-conformance.test.ts`.
 * A blob is written once and never changed. No more than a few parts of one are held in memory, however large it is.
 */
export interface BlobStore {
  readonly kind: 'folder' | 's3';
  /**
   * Stores all bytes of `source` under a key of `newBlobKey`, or nothing: when the source throws or the signal aborts,
   * nothing is left and that error is thrown. Once resolved they survive a crash of this process and of its machine.
   */
  put(key: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredBlob>;
  /** The bytes, or a range of them, which must lie within. Throws `BlobMissing` when nothing is stored under the key. */
  read(key: string, range: ByteRange | null, signal: AbortSignal): Promise<Readable>;
  /** Null when nothing is stored under the key. */
  size(key: string, signal: AbortSignal): Promise<number | null>;
  /** Removes what is stored under the key, and what a `put` left of it that ended with its process. May be called twice. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Resolves when bytes could be stored now; throws an Error with a sentence for the operator when they could not. */
  check(signal: AbortSignal): Promise<void>;
  /** May be called twice. */
  close(): Promise<void>;
}

/** Nothing is stored under the key. */
export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';
  constructor(key: string) {
    super(`nothing is stored under ${key}`);
  }
}

const KEY = /^[0-9a-f]{32}$/;

/** A new key: 32 hexadecimal digits, random, so that those of many blobs spread evenly over folders. */
export function newBlobKey(): string {
  return randomBytes(16).toString('hex');
}

/** Throws unless it is a key: it becomes a part of paths. */
export function requireBlobKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`not a key of a blob: ${JSON.stringify(key)}`);
}
