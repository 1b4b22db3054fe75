import type { WordVectors } from '../embedding/word-vectors.ts';
import { eachWord, isUnspaced } from '../embedding/words.ts';
import { isTrainedStopWord, trainedStem } from '../english.ts';
import { extractEntities, type QuestionType, questionType } from './answer-type.ts';
import type { DocumentFrequencies } from './document-frequencies.ts';

/** Words of a query that are read. Of them, the terms of highest IDF are searched. */
const MAX_QUERY_WORDS = 512;
const MAX_TERMS = 48;
/** Query words in which common runs are searched. */
const MAX_RUN_WORDS = 64;
/** Cached document words, a kilobyte each. A full cache is cleared. */
const MAX_CACHED_WORDS = 16_384;
/** Every fourth component estimates the norm of a sum, which would otherwise take most of the time. */
export const NORM_STRIDE = 4;
/** Words that share their first letters are related forms: their similarity is at least this. */
const PREFIX_LETTERS = 5;
const PREFIX_SIMILARITY = 0.7;

/** A document word compared with the query. */
export interface WordMatch {
  stem: string;
  /** Index of the term with the same stem; -1 for none. */
  term: number;
  /** 0 for a stop word. */
  idf: number;
  /** Cosine similarity to each term, 1 for the same stem; null for a stop word. */
  similarities: Float32Array | null;
  /** Inner product with the query's normalised embedding. */
  queryProduct: number;
  /** Every `NORM_STRIDE`-th component of the word's vector. */
  sample: Float32Array;
  tokens: number;
}

/** A query prepared for any number of documents. Holds up to 16 MB of cached word matches. */
export class PreparedQuery {
  /** Tokens of the query. */
  readonly tokens: number;
  /** IDF of each term as a share of the sum, in descending order. */
  readonly weights: Float64Array;
  /** Stems of the first words, stop words included. */
  readonly wordStems: readonly string[];
  /** Sum of the terms' IDF. */
  readonly idfSum: number;
  readonly question: QuestionType;
  /** Numbers and names, in lower case. */
  readonly entities: readonly string[];
  readonly #frequencies: DocumentFrequencies;
  readonly #vectors: WordVectors;
  readonly #stems: readonly string[];
  readonly #termVectors: readonly Float32Array[];
  readonly #embedding: Float32Array;
  readonly #cache = new Map<string, WordMatch>();

  constructor(text: string, frequencies: DocumentFrequencies, vectors: WordVectors) {
    const words: string[] = [];
    eachUnit(text, (word) => words.push(word) < MAX_QUERY_WORDS);
    const content = words.filter((word) => !isTrainedStopWord(word));
    const wordOfStem = new Map((content.length > 0 ? content : words).map((word) => [trainedStem(word), word]));
    const terms = [...wordOfStem]
      .map(([stem, word]) => ({ stem, word, idf: frequencies.idf(stem) }))
      .sort((a, b) => b.idf - a.idf)
      .slice(0, MAX_TERMS);
    const sum = terms.reduce((total, { idf }) => total + idf, 0);
    const read = words.map((word) => vectors.lookup(word));
    const embedding = new Float32Array(read[0]?.vector.length ?? 0);
    for (const { vector } of read) addScaled(embedding, vector, 1);
    this.tokens = read.reduce((total, { tokens }) => total + tokens, 0);
    this.weights = Float64Array.from(terms, ({ idf }) => idf / sum);
    this.wordStems = words.slice(0, MAX_RUN_WORDS).map(trainedStem);
    this.idfSum = sum;
    this.question = questionType(text);
    this.entities = extractEntities(text);
    this.#frequencies = frequencies;
    this.#vectors = vectors;
    this.#stems = terms.map(({ stem }) => stem);
    this.#termVectors = terms.map(({ word }) => normalise(vectors.lookup(word).vector));
    this.#embedding = normalise(embedding);
  }

  /** Compares a lower-case word of a document. */
  match(word: string): WordMatch {
    const cached = this.#cache.get(word);
    if (cached !== undefined) return cached;
    if (this.#cache.size >= MAX_CACHED_WORDS) this.#cache.clear();
    const stem = trainedStem(word);
    const term = this.#stems.indexOf(stem);
    const isStopWord = isTrainedStopWord(word);
    const { vector, tokens } = this.#vectors.lookup(word);
    const match = {
      stem,
      term,
      idf: isStopWord ? 0 : this.#frequencies.idf(stem),
      similarities: term === -1 && isStopWord ? null : this.#similarities(stem, vector),
      queryProduct: dotProduct(this.#embedding, vector),
      sample: takeSample(vector),
      tokens,
    };
    this.#cache.set(word, match);
    return match;
  }

  #similarities(stem: string, vector: Float32Array): Float32Array {
    const norm = Math.sqrt(dotProduct(vector, vector)) || 1;
    const prefix = stem.length >= PREFIX_LETTERS ? stem.slice(0, PREFIX_LETTERS) : null;
    const similarities = new Float32Array(this.#stems.length);
    for (const [index, other] of this.#stems.entries()) {
      const cosine = dotProduct(this.#termVectors[index] as Float32Array, vector) / norm;
      const isRelated = prefix !== null && other.startsWith(prefix);
      similarities[index] = other === stem ? 1 : isRelated ? Math.max(cosine, PREFIX_SIMILARITY) : cosine;
    }
    return similarities;
  }
}

/** Calls `take` with each word in order until it returns false. Scripts without spaces give pairs of characters. */
export function eachUnit(text: string, take: (word: string) => boolean): void {
  eachWord(text, (word) => {
    // Almost all text is ASCII; the first character decides.
    if (word.charCodeAt(0) < 0x0e00 || !isUnspaced(word)) return take(word);
    const characters = Array.from(word);
    if (characters.length === 1) return take(word);
    for (let i = 1; i < characters.length; i++) if (!take(`${characters[i - 1]}${characters[i]}`)) return false;
    return true;
  });
}

/** Adds `factor` times `vector` to `sum`. */
export function addScaled(sum: Float32Array, vector: Float32Array, factor: number): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + factor * (vector[i] as number);
}

/** Inner product. The length is a multiple of four: four sums in parallel hide the latency of additions. */
export function dotProduct(a: Float32Array, b: Float32Array): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  for (let i = 0; i < a.length; i += 4) {
    first += (a[i] as number) * (b[i] as number);
    second += (a[i + 1] as number) * (b[i + 1] as number);
    third += (a[i + 2] as number) * (b[i + 2] as number);
    fourth += (a[i + 3] as number) * (b[i + 3] as number);
  }
  return first + second + third + fourth;
}

function takeSample(vector: Float32Array): Float32Array {
  const sample = new Float32Array(vector.length / NORM_STRIDE);
  for (let i = 0; i < sample.length; i++) sample[i] = vector[i * NORM_STRIDE] as number;
  return sample;
}

function normalise(vector: Float32Array): Float32Array {
  const norm = Math.sqrt(dotProduct(vector, vector)) || 1;
  return vector.map((value) => value / norm);
}
