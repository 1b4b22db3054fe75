import { fnv1a } from '../embedding/tokenizer.ts';

/** Prefix of a stem for its second slot. */
const SECOND_HASH = '2';
/** Slot values per doubling of the count. */
const STEPS_PER_DOUBLING = 8;

/** Document frequencies of stems in general English, as a count-min sketch with two hashes. */
export class DocumentFrequencies {
  readonly #slots: Uint8Array;
  readonly #documents: number;

  /** `slots`: a power of two of bytes, see `slotValue`. `documents`: the size of the counted corpus. */
  constructor(slots: Uint8Array, documents: number) {
    this.#slots = slots;
    this.#documents = documents;
  }

  /** Inverse document frequency of BM25: ln(1 + (N - n + 0.5) / (n + 0.5)). */
  idf(stem: string): number {
    const mask = this.#slots.length - 1;
    const value = Math.min(...slotHashes(stem).map((hash) => this.#slots[hash & mask] as number));
    const frequency = 2 ** (value / STEPS_PER_DOUBLING) - 1;
    return Math.log(1 + Math.max(0, this.#documents - frequency + 0.5) / (frequency + 0.5));
  }
}

/** The 32-bit hashes whose low bits are the slots of a stem. */
export function slotHashes(stem: string): [number, number] {
  return [fnv1a(stem), fnv1a(SECOND_HASH + stem)];
}

/** The byte that stores a document frequency, on a logarithmic scale. */
export function slotValue(frequency: number): number {
  return Math.min(255, Math.round(STEPS_PER_DOUBLING * Math.log2(1 + frequency)));
}
