/** FNV-1a over the char codes of `word[from, to)`, 32 bits, unsigned. */
export function hash(word: string, from = 0, to = word.length): number {
  let value = 0x811c9dc5;
  for (let i = from; i < to; i++) value = Math.imul(value ^ word.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

/** The known words, by the hashes of their spelling, in order of frequency: a word's id is its rank. */
export class Vocabulary {
  readonly size: number;
  readonly #mask: number;
  readonly #slots: Int32Array;
  readonly #hashes: Uint32Array;

  /** `hashes[id]` is `hash` of the word with that id. */
  constructor(hashes: Uint32Array) {
    this.size = hashes.length;
    this.#hashes = hashes;
    let slots = 16;
    while (slots < 2 * hashes.length) slots *= 2;
    this.#mask = slots - 1;
    this.#slots = new Int32Array(slots).fill(-1);
    for (let id = 0; id < hashes.length; id++) {
      let slot = (hashes[id] ?? 0) & this.#mask;
      while (this.#slots[slot] !== -1) slot = (slot + 1) & this.#mask;
      this.#slots[slot] = id;
    }
  }

  /** The id of the word with this hash, -1 if there is none. */
  find(hashed: number): number {
    let slot = hashed & this.#mask;
    for (;;) {
      const id = this.#slots[slot] ?? -1;
      if (id === -1 || this.#hashes[id] === hashed) return id;
      slot = (slot + 1) & this.#mask;
    }
  }
}
