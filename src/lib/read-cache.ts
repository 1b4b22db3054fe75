import { LruMap } from './lru-map.ts';

/** Bounds of a `ReadCache`. */
export interface ReadCacheOptions {
  /** Time for which a value is trusted, from the start of its lookup. */
  ttlMs: number;
  /** Beyond this number, the least recently used value is evicted. */
  maxEntries: number;
  /** Milliseconds of any clock. */
  now: () => number;
}

/** Caches values that are read asynchronously, such as rows. Concurrent reads of one key share a lookup. */
export class ReadCache<Value> {
  readonly #options: ReadCacheOptions;
  readonly #entries: LruMap<string, { value: Value; readAt: number }>;
  /** A lookup that `evict` may have overtaken is removed, so that its value is not cached. */
  readonly #lookups = new Map<string, Promise<Value>>();

  constructor(options: ReadCacheOptions) {
    this.#options = options;
    this.#entries = new LruMap(options.maxEntries);
  }

  /**
   * Returns the cached value, or a promise of the value that `read` returns. `read` receives the expired value. Errors
   * of `read` are not cached.
   */
  get(key: string, read: (expired: Value | undefined) => Promise<Value>): Value | Promise<Value> {
    const entry = this.#entries.get(key);
    const now = this.#options.now();
    if (entry !== undefined && now - entry.readAt < this.#options.ttlMs) return entry.value;
    const running = this.#lookups.get(key);
    if (running !== undefined) return running;
    const isCurrent = () => this.#lookups.get(key) === lookup;
    const lookup = read(entry?.value)
      .then((value) => {
        if (isCurrent()) this.#entries.set(key, { value, readAt: now });
        return value;
      })
      .finally(() => {
        if (isCurrent()) this.#lookups.delete(key);
      });
    this.#lookups.set(key, lookup);
    return lookup;
  }

  /** Evicts the values that match. Values whose lookup runs are not cached. */
  evict(matches: (key: string, value: Value) => boolean): void {
    this.#lookups.clear();
    for (const [key, { value }] of this.#entries) if (matches(key, value)) this.#entries.delete(key);
  }
}
