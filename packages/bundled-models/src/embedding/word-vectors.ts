import { Tokenizer } from './tokenizer.ts';
import { type EmbeddingWeights, readEmbeddingWeights } from './weights.ts';

/** Tokens of a word that are read; longer words are not natural language. */
const MAX_WORD_TOKENS = 64;
/** Cached words, 2 KB each. A full cache is cleared. */
const MAX_CACHED_WORDS = 8_192;

/** A word's vector: the sum of its token vectors, not normalised. Read-only. */
export interface WordVector {
  vector: Float32Array;
  tokens: number;
}

/** Token vectors of the bundled embedding model, summed by word. */
export class WordVectors {
  readonly #weights: EmbeddingWeights;
  readonly #tokenizer: Tokenizer;
  readonly #cache = new Map<string, WordVector>();

  /** Throws when the file is not an embedding model. */
  constructor(file: Uint8Array) {
    this.#weights = readEmbeddingWeights(file);
    this.#tokenizer = new Tokenizer(this.#weights.pieces, this.#weights.bucketRows);
  }

  /** Number of trained parameters. */
  get parameters(): number {
    return this.#weights.scales.length * (this.#weights.width + 1);
  }

  /** Looks up a lower-case word. Of a long word, only the first tokens count. */
  lookup(word: string): WordVector {
    const text = word.slice(0, MAX_WORD_TOKENS);
    const cached = this.#cache.get(text);
    if (cached !== undefined) return cached;
    if (this.#cache.size >= MAX_CACHED_WORDS) this.#cache.clear();
    const sum = this.#sumTokens(text);
    this.#cache.set(text, sum);
    return sum;
  }

  #sumTokens(word: string): WordVector {
    const { width, packed, scales } = this.#weights;
    const { rows, tokens } = this.#tokenizer.tokenize(word, MAX_WORD_TOKENS);
    const vector = new Float32Array(width);
    for (const row of rows) {
      const scale = scales[row] as number;
      for (let i = 0, at = (row * width) / 2; i < width; i += 2, at++) {
        const pair = packed[at] as number;
        vector[i] = (vector[i] as number) + scale * ((pair & 15) - 8);
        vector[i + 1] = (vector[i + 1] as number) + scale * ((pair >> 4) - 8);
      }
    }
    return { vector, tokens };
  }
}
