/** Unsigned 32-bit FNV-1a hash of the char codes of `word[start, end)`. */
export function hashChars(word: string, start = 0, end = word.length): number {
  let value = 0x811c9dc5;
  for (let i = start; i < end; i++) value = Math.imul(value ^ word.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/** Vocabulary as an open-addressing table of word hashes. The id of a word is its frequency rank. */
export class WordHashes {
  readonly #mask: number;
  readonly #slots: Int32Array;
  readonly #hashes: Uint32Array;

  /** `hashes[id]` is `hashChars` of the word with that id. */
  constructor(hashes: Uint32Array) {
    this.#hashes = hashes;
    const slots = 2 ** Math.max(4, Math.ceil(Math.log2(2 * hashes.length)));
    this.#mask = slots - 1;
    this.#slots = new Int32Array(slots).fill(-1);
    for (const [id, hash] of hashes.entries()) {
      let slot = hash & this.#mask;
      while (this.#slots[slot] !== -1) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = id;
    }
  }

  /** The id of the word with this hash; -1 for none. */
  find(hash: number): number {
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const id = this.#slots[slot] ?? -1;
      if (id === -1 || this.#hashes[id] === hash) return id;
    }
  }
}
