/** Map of at most `maxEntries` entries: beyond that, the least recently used one is evicted. */
export class LruMap<Key, Value> {
  readonly #maxEntries: number;
  /** Least recently used first. */
  readonly #entries = new Map<Key, Value>();

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** Returns a value and makes it the most recently used one. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Sets a value and makes it the most recently used one. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#maxEntries) this.#entries.delete(this.#entries.keys().next().value as Key);
  }
}
