/** Port of embedding engines. Every implementation passes `test/embedding-conformance.ts`. */
import type { Backend } from './engine.ts';

export { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';

/** Purpose of an embedding. Some models add a prefix to queries or documents; `text` is embedded unchanged. */
export type EmbeddingPurpose = 'text' | 'query' | 'document';

/** Texts to embed. */
export interface EmbeddingRequest {
  texts: readonly string[];
  purpose: EmbeddingPurpose;
  /** Maximum tokens per text, counted without special tokens; null: unlimited. */
  maxTokensPerText: number | null;
  /** Dotted path of the text at an index in the request, for errors: `input.3`. */
  nameParam(index: number): string;
  /** The organization, for fair queueing. Absent: work of the service itself. */
  scope?: string;
}

/** Weight of the cosine similarity for models of usual size: equal to the keyword score. */
export const DEFAULT_HYBRID_WEIGHT = 0.5;

/** Result of one call. */
export interface Embeddings {
  /** One vector per text, in order: 1024 floats, L2-normalized. */
  vectors: Float32Array[];
  /** Processed tokens, as the engine counts them. */
  tokens: number;
  /** Time that the call waited in the queue of the engine, in milliseconds. Absent: none. */
  queueMs?: number;
}

/**
 * A runtime that embeds texts with one model.
 *
 * Errors are `ApiError`s: 400 `token_limit_exceeded` and `invalid_value` with the path of `nameParam`, 503
 * `engine_unavailable`. An aborted signal ends a call immediately by throwing its reason, and frees its resources.
 */
export interface EmbeddingEngine {
  /** Returns the last known state, without I/O. */
  backend(): Backend;
  /**
   * Identifies everything that determines vectors: weights, dimensions, normalization and prefixes. Engines with equal
   * fingerprints can share an index.
   */
  fingerprint(): string;
  /** Weight of the cosine similarity in hybrid scores, 0 to 1; the rest is BM25. Absent: `DEFAULT_HYBRID_WEIGHT`. */
  readonly hybridWeight?: number;
  /**
   * Embeds texts. Texts longer than the model's window are embedded in windows. Vectors do not depend on the other
   * texts of the call.
   */
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Counts the tokens of each text without special tokens. `scope`: as in `EmbeddingRequest`. */
  countTokens(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<number[]>;
  /**
   * Returns the highest cosine similarity of a passage of each text to the query, -1 to 1: a sentence in a long text
   * counts as much as in a short one. At least one text. Absent: the model is too slow for it.
   */
  matchPassages?(query: string, texts: readonly string[], signal: AbortSignal, scope?: string): Promise<number[]>;
  /** Health check: resolves when the engine responds. Throws an Error with a message for operators otherwise. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. Idempotent. */
  close(): Promise<void>;
}
