/** The port of the engines that turn texts into vectors. Every implementation passes `test/embedding-conformance.ts`. */
import type { Backend } from './engine.ts';

export { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';

/**
 * What a text is embedded for. Some models put words of their own before one or the other; `text` is embedded as it stands,
 * which is what a caller who names no purpose gets.
 */
export type EmbeddingPurpose = 'text' | 'query' | 'document';

/** Texts to embed. */
export interface EmbeddingRequest {
  texts: readonly string[];
  purpose: EmbeddingPurpose;
  /** A text of more tokens is refused, as the model counts them without what it adds itself; null takes any length. */
  maxTokensPerText: number | null;
  /** Where the text at an index stands in the caller's body, for errors that name it: `input.3`. */
  paramOf(index: number): string;
  /** The organization that the queue is shared fairly by. Absent: work of the service itself. */
  scope?: string;
}

/** Weight of the cosine similarity for models of usual size: vectors and words count the same. */
export const DEFAULT_HYBRID_WEIGHT = 0.5;

/** What came of one call. */
export interface Embeddings {
  /** One of each text, in the order of the texts: 1024 floats, L2-normalised. */
  vectors: Float32Array[];
  /** Tokens that were read, as the engine counts them. */
  tokens: number;
}

/**
 * A runtime that embeds texts with one model.
 *
 * Errors are `ApiError`s: 400 `token_limit_exceeded` and `invalid_value` naming the text by `paramOf`, 503
 * `engine_unavailable`. An aborted signal ends a call by throwing its reason, at once, and frees what it held.
 */
export interface EmbeddingEngine {
  /** Never waits: what is known now. */
  backend(): Backend;
  /**
   * Tells apart whatever gives different vectors: the weights, the dimension, the normalisation and the words put before
   * texts. Two engines with one fingerprint may share an index.
   */
  fingerprint(): string;
  /** Weight of the cosine similarity in hybrid scores, 0 to 1; the rest is BM25. Absent: `DEFAULT_HYBRID_WEIGHT`. */
  readonly hybridWeight?: number;
  /** Embeds texts; a text longer than the model's window is embedded in windows. The same text gives the same vector beside any others. */
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Tokens of each text as the model counts them, without what it adds itself. `scope`: as in `EmbeddingRequest`. */
  countTokens(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<number[]>;
  /** Resolves when the engine could answer now; otherwise throws an Error with a sentence for the operator. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. May be called twice. */
  close(): Promise<void>;
}
