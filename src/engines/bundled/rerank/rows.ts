import { Tokenizer } from '../embedding/tokenizer.ts';
import { type EmbeddingWeights, readEmbeddingWeights } from '../embedding/weights.ts';

/** Tokens of a word that are read: no word has more, only what looks like one. */
const MAX_TOKENS = 64;
/** Words kept unpacked, 2 KB each; when there are more, all are forgotten. */
const MAX_KEPT = 8_192;

/** A word as the embedding model's table has it. */
export interface WordRow {
  /** The sum of its rows, not normalised. */
  vector: Float32Array;
  /** Tokens that were read of it. */
  tokens: number;
}

/** The learned vectors of single words, out of the embedding model's file. */
export class WordRows {
  readonly #weights: EmbeddingWeights;
  readonly #tokenizer: Tokenizer;
  readonly #kept = new Map<string, WordRow>();

  /** Throws when the file is no embedding model. */
  constructor(file: Uint8Array) {
    this.#weights = readEmbeddingWeights(file);
    this.#tokenizer = new Tokenizer(this.#weights.pieces, this.#weights.bucketRows);
  }

  /** Numbers that training has found. */
  get parameters(): number {
    return this.#weights.scales.length * (this.#weights.width + 1);
  }

  /** The word's vector and length; of a very long one only the beginning. Not to be written to. */
  read(word: string): WordRow {
    const beginning = word.slice(0, MAX_TOKENS);
    const known = this.#kept.get(beginning);
    if (known !== undefined) return known;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const read = this.#unpacked(beginning);
    this.#kept.set(beginning, read);
    return read;
  }

  #unpacked(word: string): WordRow {
    const { width, packed, scales } = this.#weights;
    const { rows, tokens } = this.#tokenizer.read(word, MAX_TOKENS);
    const vector = new Float32Array(width);
    for (const row of rows) {
      const scale = scales[row] as number;
      for (let i = 0, at = (row * width) / 2; i < width; i += 2, at++) {
        const both = packed[at] as number;
        vector[i] = (vector[i] as number) + scale * ((both & 15) - 8);
        vector[i + 1] = (vector[i + 1] as number) + scale * ((both >> 4) - 8);
      }
    }
    return { vector, tokens };
  }
}
