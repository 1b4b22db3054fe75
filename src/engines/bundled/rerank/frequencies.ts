import { fnv1a } from '../embedding/tokenizer.ts';

/** Seed of the second place of a stem, put before it. */
const SECOND = '2';
/** A slot's byte counts in steps of an eighth of a doubling. */
const STEPS = 8;

/**
 * How many texts of general English hold a stem, roughly: a sketch of two places for each stem, of which the smaller count
 * holds, so that stems which share a place seldom disturb each other.
 */
export class Frequencies {
  readonly #slots: Uint8Array;
  readonly #texts: number;

  /** `slots`: a power of two of bytes, each round(8 log2(1 + texts)); `texts`: how many were counted. */
  constructor(slots: Uint8Array, texts: number) {
    this.#slots = slots;
    this.#texts = texts;
  }

  /** Inverse document frequency as BM25 has it: ln(1 + (texts - held + 0.5) / (held + 0.5)). */
  idf(stem: string): number {
    const mask = this.#slots.length - 1;
    const [first, second] = placesOf(stem);
    const step = Math.min(this.#slots[first & mask] as number, this.#slots[second & mask] as number);
    const held = 2 ** (step / STEPS) - 1;
    return Math.log(1 + Math.max(0, this.#texts - held + 0.5) / (held + 0.5));
  }
}

/** The two places of a stem, as 32-bit numbers. */
export function placesOf(stem: string): [number, number] {
  return [fnv1a(stem), fnv1a(SECOND + stem)];
}

/** The byte of a count of texts. */
export function stepOf(texts: number): number {
  return Math.min(255, Math.round(STEPS * Math.log2(1 + texts)));
}
