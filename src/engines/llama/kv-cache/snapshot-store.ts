import { rm } from 'node:fs/promises';
import { loadSequence, saveSequence } from '../runtime/bindings.ts';
import type { KvContext } from './kv-context.ts';
import type { KvDiskCache, KvSnapshot } from './kv-disk-cache.ts';
import { movingAverage } from './moving-average.ts';
import type { PrefixCache, SnapshotHolder } from './prefix-cache.ts';
import { convertSnapshot, readSnapshotSlots } from './snapshot-format.ts';

/** Shorter prefixes are computed again as fast as they are read back. */
export const MIN_SNAPSHOT_TOKENS = 64;
/** Assumed speed of the page cache until measured. */
const FILE_BYTES_PER_SECOND = 1e9;
/** Pause after a failed write, such as on a full disk. */
const WRITE_PAUSE_MS = 60_000;

/** The content of a slot that a snapshot stores. */
export interface SlotContent {
  readonly index: number;
  /** A `scopeKey`. */
  readonly scope: string;
  readonly tokens: readonly number[];
}

/** Where snapshots are kept. */
export interface SnapshotStoreOptions {
  kv: KvContext;
  /** Receives every snapshot that is added or deleted, and decides which ones are evicted. */
  cache: PrefixCache;
  files: KvDiskCache;
  /** Snapshots that earlier processes left in `files`. */
  snapshots: readonly KvSnapshot[];
  /** Bytes that all snapshots may take. */
  diskBytes: number;
  bytesPerToken: number;
  warn(what: string, error: unknown): void;
}

/** Writes slots to the KV disk cache and reads them back. Nothing of it may run during a `decode`. */
export class SnapshotStore {
  readonly #options: SnapshotStoreOptions;
  readonly #snapshots = new Map<string, SnapshotHolder>();
  /** Resolves when all fsyncs and deletions so far are done. */
  #fileOperations: Promise<void> = Promise.resolve();
  #readBytesPerSecond = FILE_BYTES_PER_SECOND;
  #writeBytesPerSecond = FILE_BYTES_PER_SECOND;
  #pausedUntil = 0;

  constructor(options: SnapshotStoreOptions) {
    this.#options = options;
    for (const { id, scope, bytes, tokens } of options.snapshots) this.#add(id, bytes, scope, tokens);
  }

  /** Estimated speed of reading, in bytes per second. */
  get readBytesPerSecond(): number {
    return this.#readBytesPerSecond;
  }

  /** Estimated milliseconds to write that number of tokens. */
  writeMilliseconds(tokens: number): number {
    return (tokens * this.#options.bytesPerToken * 1_000) / this.#writeBytesPerSecond;
  }

  /** Estimated seconds to write that number of tokens and read them back. */
  roundTripSeconds(tokens: number): number {
    const bytes = tokens * this.#options.bytesPerToken;
    return bytes / this.#writeBytesPerSecond + bytes / this.#readBytesPerSecond;
  }

  /** Whether a snapshot of that number of tokens may be written now. */
  accepts(tokens: number): boolean {
    const { bytesPerToken, diskBytes } = this.#options;
    return tokens * bytesPerToken <= diskBytes && performance.now() >= this.#pausedUntil;
  }

  /** Writes a slot. Resolves with the snapshot id; null if it is too short, too large, or cannot be written. */
  async save({ index, scope, tokens }: SlotContent): Promise<string | null> {
    const { files, kv } = this.#options;
    if (tokens.length < MIN_SNAPSHOT_TOKENS || !this.accepts(tokens.length)) return null;
    const saved = Int32Array.from(tokens);
    const started = performance.now();
    try {
      const { id, bytes } = await files.write(scope, (path) => saveSequence(kv.current, index, tokens, path));
      const bytesPerSecond = (bytes / (performance.now() - started)) * 1_000;
      this.#writeBytesPerSecond = movingAverage(this.#writeBytesPerSecond, bytesPerSecond);
      this.#add(id, bytes, scope, saved);
      // The snapshot can be read now; its fsync is for the next process.
      this.#enqueue(
        () => files.commit(id),
        (error) => this.#pause(error),
      );
      return id;
    } catch (error) {
      this.#pause(error);
      return null;
    }
  }

  /** Reads a snapshot into a slot. Resolves with its tokens; with none, and an unknown slot, when it cannot be read. */
  async load(slot: number, id: string): Promise<{ tokens: readonly number[]; milliseconds: number }> {
    const { files, cache, warn } = this.#options;
    const holder = this.#snapshots.get(id);
    if (holder === undefined) return { tokens: [], milliseconds: 0 };
    const started = performance.now();
    try {
      const tokens = await this.#read(slot, files.path(id));
      const milliseconds = performance.now() - started;
      this.#readBytesPerSecond = movingAverage(this.#readBytesPerSecond, (holder.bytes / milliseconds) * 1_000);
      cache.touch(holder);
      void files.touch(id);
      return { tokens, milliseconds };
    } catch (error) {
      warn('KV snapshot unreadable, deleted', error);
      this.#delete(holder);
      return { tokens: [], milliseconds: 0 };
    }
  }

  async #read(slot: number, path: string): Promise<number[]> {
    const { kv, files } = this.#options;
    const slots = await readSnapshotSlots(path);
    if (slots === null || slots === kv.slots) return loadSequence(kv.current, slot, path);
    const converted = files.scratchPath();
    try {
      await convertSnapshot(path, converted, kv.slots);
      return await loadSequence(kv.current, slot, converted);
    } finally {
      await rm(converted, { force: true });
    }
  }

  /** Resolves when every snapshot is on the disk and every deleted one is gone. */
  async flush(): Promise<void> {
    await this.#fileOperations;
  }

  /** Path of a temporary file, which the next process deletes if this one does not. */
  scratchPath(): string {
    return this.#options.files.scratchPath();
  }

  #add(id: string, bytes: number, scope: string, tokens: ArrayLike<number>): void {
    const holder: SnapshotHolder = { kind: 'snapshot', id, bytes, length: tokens.length };
    this.#snapshots.set(id, holder);
    for (const evicted of this.#options.cache.addSnapshot(holder, scope, tokens)) this.#delete(evicted);
  }

  #delete(holder: SnapshotHolder): void {
    const { cache, files, warn } = this.#options;
    cache.remove(holder);
    this.#snapshots.delete(holder.id);
    this.#enqueue(
      () => files.remove(holder.id),
      (error) => warn('KV snapshot could not be deleted', error),
    );
  }

  #pause(error: unknown): void {
    this.#pausedUntil = performance.now() + WRITE_PAUSE_MS;
    this.#options.warn('KV snapshot not written; none is written for a minute', error);
  }

  /** Runs one file operation at a time: a slow disk must not occupy the thread pool, which computes. */
  #enqueue(work: () => Promise<void>, failed: (error: unknown) => void): void {
    this.#fileOperations = this.#fileOperations.then(work).catch(failed);
  }
}
