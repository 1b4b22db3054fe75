import { type Kind, kindOf, namesOf } from './kinds.ts';
import type { Lexicon, Word } from './lexicon.ts';
import type { WordRows } from './rows.ts';
import { eachUnit } from './words.ts';

/** Words of a query that are read, and of those that are looked for the rarest. */
const MAX_QUERY_WORDS = 512;
const MAX_TERMS = 48;
/** The length of a sum of many vectors is estimated by one number in so many: exact ones take most of the time. */
const SAMPLE = 4;
/** Words of documents whose likeness to the query's is kept at once, a kilobyte each; when there are more, all are forgotten. */
const MAX_KNOWN = 16_384;
/** Words that begin with the same letters, so many, are taken for alike. */
const PREFIX_LETTERS = 5;
const PREFIX_LIKENESS = 0.7;

/** What a word of a document is to the query. */
export interface Likeness {
  word: Word;
  /** The term whose stem it has; -1 for none. */
  term: number;
  /** Cosine to each term, 1 for its own; null for a word that says nothing. */
  cosines: Float32Array | null;
  /** The inner product of its vector and the query's whole. */
  toWhole: number;
  /** Every `SAMPLE`th number of its vector, to estimate lengths of sums by. */
  sample: Float32Array;
  tokens: number;
}

/** A query, made ready for any number of documents. Holds a few megabytes of memory. */
export class Question {
  readonly text: string;
  readonly kind: Kind;
  /** Numbers and names in it. */
  readonly names: readonly string[];
  /** Every word, in order. */
  readonly words: readonly Word[];
  /** What is looked for: words of different stems, without those that say nothing unless there are no others. */
  readonly terms: readonly Word[];
  /** Share of each term in the sum of their rarities. */
  readonly weights: Float64Array;
  /** Places in `terms`, the rarest first. */
  readonly rarest: readonly number[];
  /** Neighbouring terms, by their places; words that say nothing may stand between. */
  readonly pairs: readonly (readonly [number, number])[];
  /** Of length 1: one for each term, and one of the whole. */
  readonly units: readonly Float32Array[];
  readonly whole: Float32Array;
  readonly tokens: number;
  readonly #lexicon: Lexicon;
  readonly #rows: WordRows;
  readonly #placeOf: ReadonlyMap<string, number>;
  readonly #known = new Map<string, Likeness>();

  constructor(text: string, lexicon: Lexicon, rows: WordRows) {
    this.text = text;
    this.kind = kindOf(text);
    this.names = namesOf(text);
    this.#lexicon = lexicon;
    this.#rows = rows;
    const words: Word[] = [];
    eachUnit(text, (word) => words.push(lexicon.word(word)) < MAX_QUERY_WORDS);
    this.words = words;
    this.terms = termsOf(words);
    this.#placeOf = new Map(this.terms.map(({ stem }, place) => [stem, place]));
    const sum = this.terms.reduce((total, { idf }) => total + idf, 0);
    this.weights = Float64Array.from(this.terms, ({ idf }) => idf / sum);
    this.rarest = [...this.terms.keys()].sort((a, b) => (this.weights[b] ?? 0) - (this.weights[a] ?? 0));
    this.pairs = this.#pairsOf(words);
    this.units = this.terms.map((term) => unit(rows.read(term.text).vector));
    const all = words.map((word) => rows.read(word.text));
    this.whole = unit(sumOf(all.map(({ vector }) => vector)));
    this.tokens = all.reduce((total, { tokens }) => total + tokens, 0);
  }

  /** What a word of a document, in lower case, is to this query. */
  likeness(text: string): Likeness {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const word = this.#lexicon.word(text);
    const { vector, tokens } = this.#rows.read(text);
    const term = this.#placeOf.get(word.stem) ?? -1;
    const cosines = word.isFunction && term === -1 ? null : this.#cosines(word, vector, term);
    const toWhole = dot(this.whole, vector);
    const likeness = { word, term, cosines, toWhole, sample: sampled(vector), tokens };
    this.#known.set(text, likeness);
    return likeness;
  }

  #cosines(word: Word, vector: Float32Array, term: number): Float32Array {
    const length = Math.sqrt(dot(vector, vector)) || 1;
    const cosines = new Float32Array(this.units.length);
    const prefix = word.stem.length >= PREFIX_LETTERS ? word.stem.slice(0, PREFIX_LETTERS) : null;
    for (let place = 0; place < cosines.length; place++) {
      const cosine = dot(this.units[place] as Float32Array, vector) / length;
      const isForm = prefix !== null && this.terms[place]?.stem.startsWith(prefix);
      cosines[place] = isForm ? Math.max(cosine, PREFIX_LIKENESS) : cosine;
    }
    if (term !== -1) cosines[term] = 1;
    return cosines;
  }

  #pairsOf(words: readonly Word[]): [number, number][] {
    const places = words.map(({ stem }) => this.#placeOf.get(stem)).filter((place) => place !== undefined);
    const pairs: [number, number][] = [];
    for (let i = 1; i < places.length; i++) {
      const [first, second] = [places[i - 1] as number, places[i] as number];
      if (first !== second) pairs.push([first, second]);
    }
    return pairs;
  }
}

function termsOf(words: readonly Word[]): Word[] {
  const content = words.filter(({ isFunction }) => !isFunction);
  const byStem = new Map((content.length > 0 ? content : words).map((word) => [word.stem, word]));
  const terms = [...byStem.values()];
  if (terms.length <= MAX_TERMS) return terms;
  const least = terms.map(({ idf }) => idf).toSorted((a, b) => b - a)[MAX_TERMS - 1] ?? 0;
  return terms.filter(({ idf }) => idf >= least).slice(0, MAX_TERMS);
}

function sumOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) addTo(sum, vector, 1);
  return sum;
}

function sampled(vector: Float32Array): Float32Array {
  const sample = new Float32Array(vector.length / SAMPLE);
  for (let i = 0; i < sample.length; i++) sample[i] = vector[i * SAMPLE] as number;
  return sample;
}

/** Cosine of the query as a whole and the damped sum of words, each with how often it stands there. */
export function wholeCosine(counted: ReadonlyMap<Likeness, number>): number {
  let inner = 0;
  let sum: Float32Array | null = null;
  for (const [{ toWhole, sample }, count] of counted) {
    const factor = Math.sqrt(count);
    inner += factor * toWhole;
    sum ??= new Float32Array(sample.length);
    addTo(sum, sample, factor);
  }
  if (sum === null) return 0;
  const length = Math.sqrt(SAMPLE * dot(sum, sum));
  return length === 0 ? 0 : Math.max(-1, Math.min(1, inner / length));
}

/** Adds `factor` times the vector. */
function addTo(sum: Float32Array, vector: Float32Array, factor: number): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + factor * (vector[i] as number);
}

/** The inner product of vectors of a multiple of four numbers. Four sums at once: one alone waits for each of its additions. */
function dot(a: Float32Array, b: Float32Array): number {
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

/** The vector divided by its length. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((value) => value / length);
}
