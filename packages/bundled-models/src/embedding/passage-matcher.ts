import { type WordVector, WordVectors } from './word-vectors.ts';
import { eachWord } from './words.ts';

/** Words of a passage: about a sentence. Passages overlap by half. */
const PASSAGE_WORDS = 24;
/** Words of a text that are read. */
const MAX_WORDS = 4_096;

/** Compares the passages of a text with a query. Not safe to share between threads. */
export class PassageMatcher {
  readonly #vectors: WordVectors;
  #query: { text: string; vector: Float32Array } | null = null;

  /** Throws when `file` is not an embedding model. */
  constructor(file: Uint8Array) {
    this.#vectors = new WordVectors(file);
  }

  /** Returns the highest cosine similarity of a passage of the text to the query, -1 to 1. */
  match(query: string, text: string): number {
    if (this.#query?.text !== query) this.#query = { text: query, vector: sumWords(this.#words(query)) };
    const { vector } = this.#query;
    const words = this.#words(text);
    let best = -1;
    for (let from = 0; from === 0 || from + PASSAGE_WORDS / 2 < words.length; from += PASSAGE_WORDS / 2) {
      best = Math.max(best, cosine(vector, sumWords(words.slice(from, from + PASSAGE_WORDS))));
    }
    return best;
  }

  #words(text: string): WordVector[] {
    const words: WordVector[] = [];
    eachWord(text, (word) => words.push(this.#vectors.lookup(word)) < MAX_WORDS);
    return words;
  }
}

/** The sum of the words' vectors, each weighted by the square root of its count, as in the vector of a text. */
function sumWords(words: readonly WordVector[]): Float32Array {
  const counts = new Map<WordVector, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sum = new Float32Array(words[0]?.vector.length ?? 0);
  for (const [{ vector }, count] of counts) {
    const weight = Math.sqrt(count);
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + weight * (vector[i] as number);
  }
  return sum;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return product / (Math.sqrt(squaresA * squaresB) || 1);
}
