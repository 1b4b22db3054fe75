import { spellingBuckets, tokenizeForModeration } from './tokenizer.ts';
import { WordHashes } from './vocabulary.ts';
import { ModerationFile, type ModerationHeader, type QuantizedMatrix } from './weights-file.ts';

/** Bound of a word's contribution to a filter, in steps: the sum of five fits 16 bits. */
const MAX_CONTRIBUTION = 6553;
/** Words before and after a word that a filter sees. The convolution is unrolled for it. */
const REACH = 2;

/** Words of a text from which each doubling lowers its scores: the maximum over more words is higher by chance. */
const SHORT_TEXT_WORDS = 16;

/** The result of `Moderator.classify`, in the order of `header.categories`. */
export interface ClassifiedText {
  /** Calibrated scores, 0 to 1. */
  scores: number[];
  /** The highest logit of any window; -Infinity for a text without words. */
  logits: number[];
  tokens: number;
}

/**
 * The bundled moderation model: a convolution over words, max-pooled over windows of two blocks, and one hidden layer.
 * Words are projected onto the filters when they first occur, as integer multiples of `header.step`, so all sums are
 * exact and results do not depend on the order of texts. Not safe to share between threads.
 */
export class Moderator {
  readonly header: ModerationHeader;
  readonly #vocabulary: WordHashes;
  readonly #wordVectors: QuantizedMatrix;
  readonly #bucketVectors: QuantizedMatrix;
  /** `width` weights for each position in the reach and each filter. */
  readonly #filters: Float32Array;
  readonly #filterBias: Float32Array;
  readonly #hidden: Float32Array;
  readonly #hiddenBias: Float32Array;
  readonly #out: Float32Array;
  readonly #outBias: Float32Array;
  /** Components of a projection: positions times filters. */
  readonly #size: number;
  /** Projections: two filters (`i` in the low, `i + filters / 2` in the high half) per number. Row 0 is padding. */
  #table: Int32Array;
  #rows = 1;
  /** Row of each word; 0 until the word occurs. */
  readonly #rowOfWord: Int32Array;
  /** Projections of spelling buckets, and whether they are computed. */
  readonly #bucketTable: Int16Array;
  readonly #hasBucket: Uint8Array;

  /** Throws when `file` is not a moderation model. */
  constructor(file: Uint8Array) {
    const reader = new ModerationFile(file);
    const { words, buckets, width, filters, hidden, categories, reach } = reader.header;
    this.header = reader.header;
    if (reach !== REACH) throw new Error(`the moderation model has a reach of ${reach}, not ${REACH}`);
    this.#size = (2 * REACH + 1) * filters;
    this.#vocabulary = new WordHashes(reader.readUint32(words));
    this.#wordVectors = reader.readMatrix(words, width);
    this.#bucketVectors = reader.readMatrix(buckets, width);
    this.#filters = reader.readMatrix(this.#size, width).dequantize();
    this.#filterBias = reader.readFloat32(filters);
    this.#hidden = reader.readFloat32(hidden * filters);
    this.#hiddenBias = reader.readFloat32(hidden);
    this.#out = reader.readFloat32(categories.length * hidden);
    this.#outBias = reader.readFloat32(categories.length);
    this.#table = new Int32Array(1024 * (this.#size >> 1));
    this.#rowOfWord = new Int32Array(words);
    this.#bucketTable = new Int16Array(buckets * this.#size);
    this.#hasBucket = new Uint8Array(buckets);
  }

  /** Number of trained parameters. */
  get parameters(): number {
    const { words, buckets, width, filters, hidden, categories } = this.header;
    const tables = (words + buckets + this.#size) * width;
    return tables + filters + (filters + 1) * hidden + (hidden + 1) * categories.length;
  }

  /** Classifies a text of any length by its highest-scoring window. */
  classify(text: string): ClassifiedText {
    const { filters, block, categories } = this.header;
    const { ids, unknown } = tokenizeForModeration(text, this.#vocabulary);
    const { offsets, cachedRows } = this.#locate(ids, unknown);
    const pooled = this.#convolve(offsets);
    // Drops the rows of unknown words, which would grow without bound.
    this.#rows = cachedRows;
    const blocks = Math.ceil(ids.length / block);
    const logits = categories.map(() => -Infinity);
    // A window starts at each block but the last, which the window before includes.
    for (let first = 0; first < Math.max(Math.min(1, blocks), blocks - 1); first++) {
      const window = this.#classifyWindow(pooled, first * filters, first + 1 < blocks);
      for (let i = 0; i < logits.length; i++) logits[i] = Math.max(logits[i] as number, window[i] as number);
    }
    return { scores: this.#calibrate(logits, ids.length), logits, tokens: ids.length };
  }

  /** Scores of logits. The length counts up to a window, so that padding a text further does not lower its scores. */
  #calibrate(logits: readonly number[], words: number): number[] {
    const { block, slope, offset, lengthSlope } = this.header;
    const doublings = Math.log2(Math.max(1, Math.min(words, 2 * block) / SHORT_TEXT_WORDS));
    return logits.map((logit, i) => {
      const sum = (slope[i] ?? 1) * logit + (offset[i] ?? 0) - (lengthSlope[i] ?? 0) * doublings;
      return 1 / (1 + Math.exp(-sum));
    });
  }

  /** Offsets of the words' projections, padded by `REACH` on both sides, and the number of rows to keep. */
  #locate(ids: readonly number[], unknown: readonly string[]): { offsets: Int32Array; cachedRows: number } {
    const offsets = new Int32Array(ids.length + 2 * REACH);
    const rowSize = this.#size >> 1;
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] as number;
      if (id < 0) continue;
      const row = this.#rowOfWord[id] as number;
      offsets[at + REACH] = rowSize * (row === 0 ? this.#addWord(id) : row);
    }
    const cachedRows = this.#rows;
    const rows = new Map<string, number>();
    for (let at = 0; at < ids.length && unknown.length > 0; at++) {
      const id = ids[at] as number;
      if (id >= 0) continue;
      const word = unknown[-1 - id] ?? '';
      const row = rows.get(word) ?? this.#addUnknownWord(word);
      rows.set(word, row);
      offsets[at + REACH] = rowSize * row;
    }
    return { offsets, cachedRows };
  }

  #addWord(id: number): number {
    const row = this.#addRow(this.#project(this.#wordVectors, id), 1);
    this.#rowOfWord[id] = row;
    return row;
  }

  /** Products of a vector with all filters at all positions, in steps. */
  #project(vectors: QuantizedMatrix, index: number): Int32Array {
    const { width, step } = this.header;
    const vector = vectors.row(index);
    const result = new Int32Array(this.#size);
    for (let i = 0, at = 0; i < result.length; i++) {
      let sum = 0;
      for (let j = 0; j < width; j++) sum += (this.#filters[at++] as number) * (vector[j] as number);
      result[i] = clampContribution(Math.round(sum / step));
    }
    return result;
  }

  /** Adds a row for a word outside the vocabulary: the mean of its spelling buckets. */
  #addUnknownWord(word: string): number {
    const sums = new Int32Array(this.#size);
    const buckets = spellingBuckets(word, this.header.buckets);
    for (const bucket of buckets) {
      const start = bucket * this.#size;
      if (this.#hasBucket[bucket] === 0) {
        this.#bucketTable.set(this.#project(this.#bucketVectors, bucket), start);
        this.#hasBucket[bucket] = 1;
      }
      for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] as number) + (this.#bucketTable[start + i] as number);
    }
    return this.#addRow(sums, buckets.length);
  }

  /** Adds `sums / count`, truncated, as a row; the filters' bias is part of the middle position. Returns its index. */
  #addRow(sums: Int32Array, count: number): number {
    const { filters, step } = this.header;
    const half = filters >> 1;
    const start = this.#rows * (this.#size >> 1);
    if (start + (this.#size >> 1) > this.#table.length) {
      const larger = new Int32Array(2 * this.#table.length);
      larger.set(this.#table);
      this.#table = larger;
    }
    const contribution = (position: number, filter: number): number => {
      const value = Math.trunc((sums[position * filters + filter] as number) / count);
      if (position !== REACH) return value;
      return clampContribution(value + Math.round((this.#filterBias[filter] as number) / step));
    };
    for (let position = 0; position <= 2 * REACH; position++) {
      for (let i = 0; i < half; i++) {
        const low = contribution(position, i);
        this.#table[start + position * half + i] = contribution(position, half + i) * 65536 + low;
      }
    }
    return this.#rows++;
  }

  /** Convolves all words. Returns the maximum of each filter in each block, at least 0. */
  #convolve(offsets: Int32Array): Int32Array {
    const { filters, block } = this.header;
    const words = offsets.length - 2 * REACH;
    const half = filters >> 1;
    const table = this.#table;
    const pooled = new Int32Array(Math.ceil(words / block) * filters);
    for (let at = 0; at < words; at++) {
      let a = offsets[at] as number;
      let b = (offsets[at + 1] as number) + half;
      let c = (offsets[at + 2] as number) + 2 * half;
      let d = (offsets[at + 3] as number) + 3 * half;
      let e = (offsets[at + 4] as number) + 4 * half;
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
        if (one > (pooled[to] as number)) pooled[to] = one;
        if (other > (pooled[to + half] as number)) pooled[to + half] = other;
      }
    }
    return pooled;
  }

  /** Logits of the window whose first block starts at `start`; `hasSecond` unless it is the only block. */
  #classifyWindow(pooled: Int32Array, start: number, hasSecond: boolean): number[] {
    const { filters, hidden, categories, step } = this.header;
    const result = Array.from(this.#outBias);
    for (let unit = 0, at = 0; unit < hidden; unit++) {
      let sum = 0;
      for (let i = start; i < start + filters; i++) {
        const value = pooled[i] as number;
        const next = hasSecond ? (pooled[i + filters] as number) : 0;
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

function clampContribution(value: number): number {
  return Math.max(-MAX_CONTRIBUTION, Math.min(MAX_CONTRIBUTION, value));
}
