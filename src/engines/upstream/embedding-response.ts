import { isRecord } from '../../lib/json.ts';
import { readInputTokens } from './upstream-usage.ts';

/** Vectors of a server. */
export interface RawEmbeddings {
  /** In the order of the texts, of any dimension, not normalized. */
  vectors: Float32Array[];
  /** Reported usage; null when there is none. */
  tokens: number | null;
}

/**
 * Parses an OpenAI-style response for `count` texts: `data` of `{index, embedding}` in any order, each embedding a list
 * of numbers or base64 of little-endian 32-bit floats. Throws an Error with the reason.
 */
export function readEmbeddings(response: unknown, count: number): RawEmbeddings {
  const data = isRecord(response) ? response['data'] : null;
  if (!isRecord(response) || !Array.isArray(data)) throw new Error('the response has no list of data');
  if (data.length !== count) throw new Error(`${data.length} vectors for ${count} texts`);
  const vectors: Float32Array[] = new Array(count);
  for (const [place, entry] of data.entries()) {
    const index = isRecord(entry) ? (entry['index'] ?? place) : null;
    const isPlace = typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < count;
    if (!isPlace || vectors[index] !== undefined) throw new Error('the indexes do not match the texts');
    vectors[index] = readVector((entry as Record<string, unknown>)['embedding']);
  }
  return { vectors, tokens: readInputTokens(response['usage']) };
}

function readVector(embedding: unknown): Float32Array {
  const vector = typeof embedding === 'string' ? decodeBase64(embedding) : readNumberList(embedding);
  if (vector.length === 0) throw new Error('a vector is empty');
  if (!vector.every(Number.isFinite)) throw new Error('a vector contains a value that is not a finite number');
  return vector;
}

function readNumberList(embedding: unknown): Float32Array {
  if (!Array.isArray(embedding)) throw new Error('an embedding is neither a list nor base64');
  return Float32Array.from(embedding, (value) => (typeof value === 'number' ? value : Number.NaN));
}

function decodeBase64(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % 4 !== 0) throw new Error('the base64 of a vector is truncated');
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

/** Returns the normalized mean of normalized vectors, weighted by their tokens. Throws an Error for zero vectors. */
export function weightedMean(vectors: readonly Float32Array[], weights: readonly number[]): Float32Array<ArrayBuffer> {
  const sums = new Float64Array(vectors[0]?.length ?? 0);
  for (const [at, vector] of vectors.entries()) {
    const factor = (weights[at] ?? 1) / eventLength(vector);
    for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + factor * (vector[i] ?? 0);
  }
  const length = eventLength(sums);
  return Float32Array.from(sums, (sum) => sum / length);
}

function eventLength(vector: Float32Array | Float64Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (!(squares > 0)) throw new Error('a vector is all zeros');
  return Math.sqrt(squares);
}
