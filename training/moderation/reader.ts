import { spellingBuckets, tokenize } from './tokens.ts';
import { Vocabulary } from './vocabulary.ts';

/** The JSON head of a weights file: sizes, and what turns a logit into a score. */
export interface Head {
  readonly model: string;
  /** In the order of all outputs. */
  readonly categories: readonly string[];
  readonly words: number;
  readonly width: number;
  readonly buckets: number;
  readonly filters: number;
  /** A filter sees this many words before and after its own. */
  readonly reach: number;
  readonly hidden: number;
  /** Words in a block; a window is two blocks. */
  readonly block: number;
  /** Score = 1 / (1 + exp(-(slope * logit + offset))), one of each for each category. */
  readonly slope: readonly number[];
  readonly offset: readonly number[];
}

/** A moderation model: scores texts of any length. Not safe to share between threads. */
export class Moderator {
  readonly head: Head;
  readonly #vocabulary: Vocabulary;
  readonly #words: Rows;
  readonly #buckets: Rows;
  /** Per place in the reach, per filter, `width` weights. */
  readonly #filters: Float32Array;
  readonly #filterBias: Float32Array;
  readonly #hidden: Float32Array;
  readonly #hiddenBias: Float32Array;
  readonly #out: Float32Array;
  readonly #outBias: Float32Array;
  /** What each known word adds to each filter at each place, computed when it is first met. */
  readonly #known: (Float32Array | undefined)[] = [];
  readonly #silent: Float32Array;

  /** Reads a weights file; throws when it is none. */
  constructor(file: Uint8Array) {
    const sections = new Sections(file);
    const head = sections.head;
    const places = 2 * head.reach + 1;
    this.head = head;
    this.#vocabulary = new Vocabulary(sections.unsigned(head.words));
    this.#words = sections.rows(head.words, head.width);
    this.#buckets = sections.rows(head.buckets, head.width);
    this.#filters = dense(sections.rows(places * head.filters, head.width), places * head.filters, head.width);
    this.#filterBias = sections.floats(head.filters);
    this.#hidden = sections.floats(head.hidden * 2 * head.filters);
    this.#hiddenBias = sections.floats(head.hidden);
    this.#out = sections.floats(head.categories.length * head.hidden);
    this.#outBias = sections.floats(head.categories.length);
    this.#silent = new Float32Array(places * head.filters);
  }

  /** One score from 0 to 1 for each of `head.categories`: the highest of any window. 0 for a text without words. */
  score(text: string): number[] {
    return this.logits(text).map((logit, i) => 1 / (1 + Math.exp(-((this.head.slope[i] ?? 1) * logit + (this.head.offset[i] ?? 0)))));
  }

  /** The highest logit of any window for each category; -Infinity for a text without words. */
  logits(text: string): number[] {
    const { ids, unknown } = tokenize(text, this.#vocabulary);
    const spelled: (Float32Array | undefined)[] = [];
    const rows = ids.map((id) => {
      if (id >= 0) return (this.#known[id] ??= this.#project(this.#words.add(id, new Float32Array(this.head.width), 1)));
      return (spelled[-1 - id] ??= this.#project(this.#spell(unknown[-1 - id] ?? '')));
    });
    const { most, sums, counts } = this.#convolve(rows);
    const best = this.head.categories.map(() => -Infinity);
    for (let block = 0; block < Math.max(1, counts.length - 1) && counts.length > 0; block++) {
      const logits = this.#judge(most, sums, counts, block);
      for (let i = 0; i < best.length; i++) best[i] = Math.max(best[i] ?? 0, logits[i] ?? 0);
    }
    return best;
  }

  /** The mean of the vectors of the buckets that `word`'s spelling falls into. */
  #spell(word: string): Float32Array {
    const buckets = spellingBuckets(word, this.head.buckets);
    const vector = new Float32Array(this.head.width);
    for (const bucket of buckets) this.#buckets.add(bucket, vector, 1 / buckets.length);
    return vector;
  }

  #project(vector: Float32Array): Float32Array {
    const { width } = this.head;
    const result = new Float32Array(this.#silent.length);
    for (let row = 0, at = 0; row < result.length; row++) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += (this.#filters[at++] ?? 0) * (vector[i] ?? 0);
      result[row] = sum;
    }
    return result;
  }

  /** The filters over all words: of each block the highest value, the sum, and how many words it has. */
  #convolve(rows: readonly Float32Array[]): { most: Float32Array; sums: Float32Array; counts: number[] } {
    const { filters, reach, block } = this.head;
    const blocks = Math.ceil(rows.length / block);
    const most = new Float32Array(blocks * filters);
    const sums = new Float32Array(blocks * filters);
    const counts: number[] = [];
    const found = new Float32Array(filters);
    for (let at = 0; at < rows.length; at++) {
      found.set(this.#filterBias);
      for (let place = -reach; place <= reach; place++) {
        const row = rows[at + place];
        if (row === undefined) continue;
        const from = (place + reach) * filters;
        for (let i = 0; i < filters; i++) found[i] = (found[i] ?? 0) + (row[from + i] ?? 0);
      }
      const number = Math.floor(at / block);
      counts[number] = (counts[number] ?? 0) + 1;
      for (let i = 0, to = number * filters; i < filters; i++, to++) {
        const value = found[i] ?? 0;
        if (value <= 0) continue;
        sums[to] = (sums[to] ?? 0) + value;
        if (value > (most[to] ?? 0)) most[to] = value;
      }
    }
    return { most, sums, counts };
  }

  /** The logits of the window that begins at `block`. */
  #judge(most: Float32Array, sums: Float32Array, counts: readonly number[], block: number): number[] {
    const { filters, hidden, categories } = this.head;
    const here = block * filters;
    const second = counts[block + 1] ?? 0;
    const words = (counts[block] ?? 0) + second;
    const result = [...this.#outBias];
    for (let unit = 0, at = 0; unit < hidden; unit++) {
      let sum = this.#hiddenBias[unit] ?? 0;
      for (let i = here; i < here + filters; i++) {
        const next = second > 0 ? (most[i + filters] ?? 0) : 0;
        sum += (this.#hidden[at++] ?? 0) * Math.max(most[i] ?? 0, next);
      }
      for (let i = here; i < here + filters; i++) {
        const next = second > 0 ? (sums[i + filters] ?? 0) : 0;
        sum += ((this.#hidden[at++] ?? 0) * ((sums[i] ?? 0) + next)) / words;
      }
      if (sum <= 0) continue;
      for (let i = 0; i < categories.length; i++) result[i] = (result[i] ?? 0) + sum * (this.#out[i * hidden + unit] ?? 0);
    }
    return result;
  }
}

/** 8-bit rows with a scale each. */
class Rows {
  readonly #width: number;
  readonly #scales: Float32Array;
  readonly #values: Int8Array;

  constructor(width: number, scales: Float32Array, values: Int8Array) {
    this.#width = width;
    this.#scales = scales;
    this.#values = values;
  }

  /** Adds `share` times row `number` to `sum`, and returns `sum`. */
  add(number: number, sum: Float32Array, share: number): Float32Array {
    const scale = (this.#scales[number] ?? 0) * share;
    const from = number * this.#width;
    for (let i = 0; i < this.#width; i++) sum[i] = (sum[i] ?? 0) + (this.#values[from + i] ?? 0) * scale;
    return sum;
  }
}

function dense(rows: Rows, count: number, width: number): Float32Array {
  const result = new Float32Array(count * width);
  for (let row = 0; row < count; row++) rows.add(row, result.subarray(row * width, (row + 1) * width), 1);
  return result;
}

/** Hands out the parts of a weights file in their order: `QMOD`, u32 length of the head, the head, then arrays without gaps. */
class Sections {
  readonly head: Head;
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8 || view.getUint32(0, true) !== 0x444f4d51) throw new Error('not a moderation model');
    const length = view.getUint32(4, true);
    this.head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    this.#bytes = bytes;
    this.#at = 8 + length;
  }

  unsigned(count: number): Uint32Array {
    return new Uint32Array(this.#take(4 * count));
  }

  floats(count: number): Float32Array {
    return new Float32Array(this.#take(4 * count));
  }

  rows(count: number, width: number): Rows {
    const scales = this.floats(count);
    return new Rows(width, scales, new Int8Array(this.#take(count * width)));
  }

  #take(bytes: number): ArrayBuffer {
    if (this.#at + bytes > this.#bytes.length) throw new Error('the moderation model is cut short');
    const part = this.#bytes.slice(this.#at, this.#at + bytes);
    this.#at += bytes;
    return part.buffer;
  }
}
