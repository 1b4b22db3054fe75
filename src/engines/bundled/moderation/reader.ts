import { type Head, type Rows, Sections } from './sections.ts';
import { spellingBuckets, tokenize } from './tokens.ts';
import { Vocabulary } from './vocabulary.ts';

/** What one word may add to one filter, in steps: five of them fit 16 bits. */
const LIMIT = 6553;

/**
 * A moderation model: scores texts of any length. Words are projected onto the filters when they are first met, as whole
 * numbers of `head.step`, so all sums are exact. Not safe to share between threads.
 */
export class Moderator {
  readonly head: Head;
  readonly #vocabulary: Vocabulary;
  readonly #words: Rows;
  readonly #buckets: Rows;
  /** For each place in the reach and each filter, `width` weights. */
  readonly #filters: Float32Array;
  readonly #filterBias: Float32Array;
  readonly #hidden: Float32Array;
  readonly #hiddenBias: Float32Array;
  readonly #out: Float32Array;
  readonly #outBias: Float32Array;
  /** Numbers in a projection: places times filters. */
  readonly #size: number;
  /** Projections of words, two filters (`i` low, `i + filters / 2` high) to a number; row 0 is no word. */
  #table: Int32Array;
  #rows = 1;
  /** The row of each known word, 0 until it is met. */
  readonly #rowOf: Int32Array;
  /** Projections of buckets, and whether they are there. */
  readonly #bucketTable: Int16Array;
  readonly #bucketThere: Uint8Array;

  /** Reads a weights file; throws when it is none. */
  constructor(file: Uint8Array) {
    const sections = new Sections(file);
    const head = sections.head;
    this.head = head;
    if (head.reach !== 2) throw new Error('this moderation model looks further around a word than two words');
    this.#size = (2 * head.reach + 1) * head.filters;
    this.#vocabulary = new Vocabulary(sections.unsigned(head.words));
    this.#words = sections.rows(head.words, head.width);
    this.#buckets = sections.rows(head.buckets, head.width);
    this.#filters = sections.rows(this.#size, head.width).dense();
    this.#filterBias = sections.floats(head.filters);
    this.#hidden = sections.floats(head.hidden * head.filters);
    this.#hiddenBias = sections.floats(head.hidden);
    this.#out = sections.floats(head.categories.length * head.hidden);
    this.#outBias = sections.floats(head.categories.length);
    this.#table = new Int32Array(1024 * (this.#size >> 1));
    this.#rowOf = new Int32Array(head.words);
    this.#bucketTable = new Int16Array(head.buckets * this.#size);
    this.#bucketThere = new Uint8Array(head.buckets);
  }

  /** Numbers that training has found. */
  get parameters(): number {
    const { words, buckets, width, filters, hidden, categories } = this.head;
    const tables = (words + buckets + this.#size) * width;
    return tables + filters + (filters + 1) * hidden + (hidden + 1) * categories.length;
  }

  /** One score from 0 to 1 for each of `head.categories`: the highest of any window. 0 for a text without words. */
  score(text: string): number[] {
    return this.assess(text).scores;
  }

  /** The highest logit of any window for each category; -Infinity for a text without words. */
  logits(text: string): number[] {
    return this.#read(text).logits;
  }

  /** The scores, and how many tokens were read for them. */
  assess(text: string): { scores: number[]; tokens: number } {
    const { slope, offset } = this.head;
    const { logits, tokens } = this.#read(text);
    const scores = logits.map((logit, i) => 1 / (1 + Math.exp(-((slope[i] ?? 1) * logit + (offset[i] ?? 0)))));
    return { scores, tokens };
  }

  #read(text: string): { logits: number[]; tokens: number } {
    const { ids, unknown } = tokenize(text, this.#vocabulary);
    const starts = new Int32Array(ids.length + 2 * this.head.reach);
    const kept = this.#place(ids, unknown, starts);
    const most = this.#convolve(starts);
    this.#rows = kept;
    const best = this.head.categories.map(() => -Infinity);
    const blocks = most.length / this.head.filters;
    for (let block = 0; block < blocks; block++) {
      if (block > 0 && block === blocks - 1) break;
      const logits = this.#judge(most, block, block + 1 < blocks);
      for (let i = 0; i < best.length; i++) best[i] = Math.max(best[i] as number, logits[i] as number);
    }
    return { logits: best, tokens: ids.length };
  }

  /** Fills `starts` with where each word's projection begins. Returns how many rows are to be kept for later texts. */
  #place(ids: readonly number[], unknown: readonly string[], starts: Int32Array): number {
    const { reach } = this.head;
    const half = this.#size >> 1;
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] as number;
      if (id < 0) continue;
      const row = this.#rowOf[id] as number;
      starts[at + reach] = half * (row === 0 ? this.#meet(id) : row);
    }
    const kept = this.#rows;
    const rows = new Map<string, number>();
    for (let at = 0; at < ids.length && unknown.length > 0; at++) {
      const id = ids[at] as number;
      if (id >= 0) continue;
      const word = unknown[-1 - id] ?? '';
      const row = rows.get(word) ?? this.#spell(word);
      rows.set(word, row);
      starts[at + reach] = half * row;
    }
    return kept;
  }

  #meet(id: number): number {
    const row = this.#append(this.#project(this.#words, id), 1);
    this.#rowOf[id] = row;
    return row;
  }

  /** A row of `rows` by all filters at all places, in steps. */
  #project(rows: Rows, number: number): Int32Array {
    const { width, step } = this.head;
    const vector = rows.row(number);
    const result = new Int32Array(this.#size);
    for (let i = 0, at = 0; i < result.length; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += (this.#filters[at++] as number) * (vector[j] as number);
      result[i] = Math.max(-LIMIT, Math.min(LIMIT, Math.round(sum / step)));
    }
    return result;
  }

  /** The row of a word that only its spelling is known of: the mean of its buckets. */
  #spell(word: string): number {
    const sums = new Int32Array(this.#size);
    const buckets = spellingBuckets(word, this.head.buckets);
    for (const bucket of buckets) {
      const from = bucket * this.#size;
      if (this.#bucketThere[bucket] === 0) {
        this.#bucketTable.set(this.#project(this.#buckets, bucket), from);
        this.#bucketThere[bucket] = 1;
      }
      for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] as number) + (this.#bucketTable[from + i] as number);
    }
    return this.#append(sums, buckets.length);
  }

  /** Adds `sums / count`, cut to whole numbers, as a row with the filters' bias at the middle place. */
  #append(sums: Int32Array, count: number): number {
    const { filters, reach, step } = this.head;
    const half = filters >> 1;
    const from = this.#rows * (this.#size >> 1);
    if (from + (this.#size >> 1) > this.#table.length) {
      const larger = new Int32Array(2 * this.#table.length);
      larger.set(this.#table);
      this.#table = larger;
    }
    for (let place = 0; place <= 2 * reach; place++) {
      for (let i = 0; i < half; i++) {
        let low = Math.trunc((sums[place * filters + i] as number) / count);
        let high = Math.trunc((sums[place * filters + half + i] as number) / count);
        if (place === reach) {
          low = this.#biased(low, i, step);
          high = this.#biased(high, half + i, step);
        }
        this.#table[from + place * half + i] = high * 65536 + low;
      }
    }
    return this.#rows++;
  }

  #biased(value: number, filter: number, step: number): number {
    return Math.max(-LIMIT, Math.min(LIMIT, value + Math.round((this.#filterBias[filter] as number) / step)));
  }

  /**
   * The filters over all words, of which `starts` says where their projections begin, with `reach` rows of none at both ends.
   * Returns for each block of words the highest value of each filter, 0 at least.
   */
  #convolve(starts: Int32Array): Int32Array {
    const { filters, reach, block } = this.head;
    const words = starts.length - 2 * reach;
    const half = filters >> 1;
    const table = this.#table;
    const most = new Int32Array(Math.ceil(words / block) * filters);
    for (let at = 0; at < words; at++) {
      let a = starts[at] as number;
      let b = (starts[at + 1] as number) + half;
      let c = (starts[at + 2] as number) + 2 * half;
      let d = (starts[at + 3] as number) + 3 * half;
      let e = (starts[at + 4] as number) + 4 * half;
      const low = ((at / block) | 0) * filters;
      const end = low + half;
      for (let to = low; to < end; to++) {
        const both =
          ((table[a++] as number) +
            (table[b++] as number) +
            (table[c++] as number) +
            (table[d++] as number) +
            (table[e++] as number)) |
          0;
        const one = (both << 16) >> 16;
        const other = (both - one) >> 16;
        if (one > (most[to] as number)) most[to] = one;
        if (other > (most[to + half] as number)) most[to + half] = other;
      }
    }
    return most;
  }

  /** The logits of the window that begins at `block`, of two blocks if there is a `second`. */
  #judge(most: Int32Array, block: number, second: boolean): number[] {
    const { filters, hidden, categories, step } = this.head;
    const from = block * filters;
    const result = Array.from(this.#outBias);
    for (let unit = 0, at = 0; unit < hidden; unit++) {
      let sum = 0;
      for (let i = from; i < from + filters; i++) {
        const value = most[i] as number;
        const next = second ? (most[i + filters] as number) : 0;
        sum += (this.#hidden[at++] as number) * Math.max(value, next);
      }
      sum = sum * step + (this.#hiddenBias[unit] as number);
      if (sum <= 0) continue;
      for (let i = 0; i < categories.length; i++)
        result[i] = (result[i] as number) + sum * (this.#out[i * hidden + unit] as number);
    }
    return result;
  }
}
