import { Tokenizer } from './tokenizer.ts';
import { type EmbeddingWeights, readEmbeddingWeights } from './weights.ts';

/** Nonzero components of the pseudo-random direction that identifies a row. */
const APART_ENTRIES = 8;

/** A text to embed. */
export interface EmbeddingPortion {
  text: string;
  /** Maximum tokens of the text. */
  limit: number;
  /** False when only the token count is needed. */
  withVector: boolean;
  /** Only the similarity of the text's best passage to this query is needed. */
  query?: string;
}

/** Vector and token count of a text. */
export interface EmbeddedText {
  /** L2-normalised; null for a text over the token limit, and where only tokens are counted. */
  vector: Float32Array | null;
  /** At least 1. For a text over the limit, any number above the limit. */
  tokens: number;
  /** Similarity of the best passage to the portion's query, -1 to 1. */
  similarity?: number;
}

/**
 * The bundled static embedding model: a vector is the sum of its token vectors. Bit-identical on every machine.
 * Not safe to share between threads; the bytes of the file are.
 */
export class Embedder {
  readonly #weights: EmbeddingWeights;
  readonly #tokenizer: Tokenizer;
  /** Accumulator of one text. */
  readonly #sums: Float64Array;

  /** Throws when `file` is not an embedding model. */
  constructor(file: Uint8Array) {
    this.#weights = readEmbeddingWeights(file);
    this.#tokenizer = new Tokenizer(this.#weights.pieces, this.#weights.bucketRows);
    this.#sums = new Float64Array(this.#weights.dimensions);
  }

  /** Components of a vector. */
  get dimensions(): number {
    return this.#weights.dimensions;
  }

  /** Number of trained parameters. */
  get parameters(): number {
    return this.#weights.scales.length * (this.#weights.width + 1);
  }

  /** Counts the tokens of a text. Stops once there are more than `limit`. */
  countTokens(text: string, limit?: number): number {
    return this.#tokenizer.tokenize(text, limit).tokens;
  }

  /** Embeds a text. Stops without a vector once there are more than `limit` tokens. */
  embed(text: string, limit = Number.POSITIVE_INFINITY): EmbeddedText {
    const { rows, tokens } = this.#tokenizer.tokenize(text, limit);
    return { vector: tokens > limit ? null : this.#sumRows(rows), tokens };
  }

  /** Embeds a text, or counts its tokens. */
  embedPortion({ text, limit, withVector }: EmbeddingPortion): EmbeddedText {
    return withVector ? this.embed(text, limit) : { vector: null, tokens: this.countTokens(text, limit) };
  }

  /**
   * The normalised sum of the rows, each weighted by the square root of its count. Doubles are added in ascending order
   * of rows and components, so that the result is deterministic.
   */
  #sumRows(rows: number[]): Float32Array {
    const sums = this.#sums.fill(0);
    const sorted = Int32Array.from(rows).sort();
    for (let at = 0; at < sorted.length; ) {
      const row = sorted[at] as number;
      const first = at;
      while (sorted[at] === row) at++;
      this.#add(row, Math.sqrt(at - first));
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

/** Unsigned 32-bit integer hash: two rounds of xor-shift and multiply. */
function mix(value: number): number {
  let x = value;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}
