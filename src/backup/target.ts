import type { Readable } from 'node:stream';

/** An object of a backup target. */
export interface StoredObject {
  name: string;
  bytes: number;
  /** Unix milliseconds. */
  modifiedMs: number;
}

/**
 * Where backups are stored: a folder or an S3-compatible store. Names are paths of letters, digits, `.`, `_`, `-` and
 * `/`. Both pass `target.test.ts`. Memory use does not depend on the size of an object.
 */
export interface BackupTarget {
  /** For messages: the folder, or the URL. */
  readonly location: string;
  /** Stores or replaces an object. Durable once resolved; after an error, nothing new is visible under the name. */
  put(name: string, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
  /** Opens an object; null when it does not exist. */
  read(name: string, signal: AbortSignal): Promise<Readable | null>;
  /** Lists the objects whose names begin with `prefix`, in no particular order. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<StoredObject>;
  /** Idempotent. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9._-]+)*$/;

/** Throws unless the string is a name of an object. Names become parts of paths. */
export function requireObjectName(name: string): void {
  if (NAME.test(name) && !name.split('/').some((part) => part === '.' || part === '..')) return;
  throw new Error(`invalid name in a backup: ${JSON.stringify(name)}`);
}
