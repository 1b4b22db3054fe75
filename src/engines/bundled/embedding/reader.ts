import { Tokenizer } from './tokenizer.ts';
import { type EmbeddingWeights, readEmbeddingWeights } from './weights.ts';

/** Entries of the direction that tells a row apart. */
const APART_ENTRIES = 8;

/** A text's vector and length. */
export interface Embedded {
  /** L2-normalised; null for a text of more tokens than were allowed. */
  vector: Float32Array | null;
  /** One at least. More than the limit means that there are more, not how many. */
  tokens: number;
}

/**
 * An embedding model of word vectors: reads texts in any script, and gives the same bits for the same text on every machine.
 * Not safe to share between threads; the file's bytes are.
 */
export class Embedder {
  readonly #weights: EmbeddingWeights;
  readonly #tokenizer: Tokenizer;
  /** What is added up for a text. */
  readonly #sums: Float64Array;

  /** Reads a file of weights; throws when it is none. */
  constructor(file: Uint8Array) {
    this.#weights = readEmbeddingWeights(file);
    this.#tokenizer = new Tokenizer(this.#weights.pieces, this.#weights.bucketRows);
    this.#sums = new Float64Array(this.#weights.dimensions);
  }

  /** Numbers of a vector. */
  get dimensions(): number {
    return this.#weights.dimensions;
  }

  /** Numbers that training has found. */
  get parameters(): number {
    return this.#weights.scales.length * (this.#weights.width + 1);
  }

  /** Tokens of a text; counting stops once there are more than `limit`. */
  count(text: string, limit?: number): number {
    return this.#tokenizer.read(text, limit).tokens;
  }

  /** The vector of a text, unless it has more than `limit` tokens: then reading stops there. */
  embed(text: string, limit = Number.POSITIVE_INFINITY): Embedded {
    const { rows, tokens } = this.#tokenizer.read(text, limit);
    return { vector: tokens > limit ? null : this.#vectorOf(rows), tokens };
  }

  /** The damped sum of the rows, of length 1. Doubles, added in a fixed order: ascending rows, then ascending places. */
  #vectorOf(rows: number[]): Float32Array {
    const sums = this.#sums.fill(0);
    const sorted = Int32Array.from(rows).sort();
    for (let at = 0; at < sorted.length; ) {
      const row = sorted[at] as number;
      const from = at;
      while (sorted[at] === row) at++;
      this.#add(row, Math.sqrt(at - from));
    }
    let squares = 0;
    for (const sum of sums) squares += sum * sum;
    const length = Math.sqrt(squares);
    const vector = new Float32Array(sums.length);
    for (let i = 0; i < sums.length; i++) vector[i] = (sums[i] as number) / length;
    return vector;
  }

  #add(row: number, factor: number): void {
    const { width, packed, scales, apart, dimensions } = this.#weights;
    const sums = this.#sums;
    const scale = factor * (scales[row] as number);
    for (let i = 0, at = (row * width) / 2; i < width; i += 2, at++) {
      const both = packed[at] as number;
      sums[i] = (sums[i] as number) + scale * ((both & 15) - 8);
      sums[i + 1] = (sums[i + 1] as number) + scale * ((both >> 4) - 8);
    }
    const share = factor * (apart[row] as number);
    for (let entry = 1; entry <= APART_ENTRIES; entry++) {
      const hash = mix(row * APART_ENTRIES + entry);
      const place = width + (hash % (dimensions - width));
      sums[place] = (sums[place] as number) + (hash >= 0x80000000 ? -share : share);
    }
  }
}

/** A 32-bit integer hash, unsigned: two rounds of xor-shift and multiply. */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}
