/**
 * Map of at most `maxEntries` entries: beyond that, the least recently used one is evicted. Iterates in the order of
 * last use.
 */
export class LruMap<Key, Value> extends Map<Key, Value> {
  readonly #maxEntries: number;
  /** The newest key is not moved: V8 allocates a table in the old generation whenever a map becomes empty. */
  #newest: Key | undefined = undefined;

  constructor(maxEntries: number) {
    super();
    this.#maxEntries = maxEntries;
  }

  /** Returns a value and makes it the most recently used one. */
  override get(key: Key): Value | undefined {
    const value = super.get(key);
    if (value !== undefined && key !== this.#newest) this.set(key, value);
    return value;
  }

  /** Sets a value and makes it the most recently used one. */
  override set(key: Key, value: Value): this {
    if (key !== this.#newest) this.delete(key);
    this.#newest = key;
    super.set(key, value);
    if (this.size > this.#maxEntries) this.delete(this.keys().next().value as Key);
    return this;
  }
}
