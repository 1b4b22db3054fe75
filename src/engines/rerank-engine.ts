/** Port of rerank engines. Every implementation passes `test/rerank-conformance.ts`. */
import type { Backend } from './engine.ts';

/** A query with the documents to score. */
export interface RerankEngineRequest {
  query: string;
  documents: readonly string[];
  /** The organization, for fair queueing. Absent: work of the service itself. */
  scope?: string;
}

/** Weights that combine the scores of a reranker with the scores of a search. */
export interface RerankScoreWeights {
  /** Weight of the search score in the score of a reranked chunk, 0 to 1. */
  searchWeight: number;
  /** Weight of the search score of a chunk, added to the logit of the rerank score of its sentences. */
  chunkWeight: number;
  /** Sentences to rank for one prompt: bounds the time before the first token. */
  maxSentences: number;
}

/**
 * Weights for cross-encoders of usual size. They score well without the search score; `chunkWeight` keeps the topic of
 * a sentence that names none. Hundreds of millions of parameters limit the number of sentences.
 */
export const DEFAULT_RERANK_SCORE_WEIGHTS: RerankScoreWeights = { searchWeight: 0, chunkWeight: 10, maxSentences: 64 };

/** Result of one call. */
export interface Reranking {
  /** One score per document, in order, 0 to 1. */
  scores: number[];
  /** Processed tokens, as the engine counts them. */
  tokens: number;
  /** Time that the call waited in the queue of the engine, in milliseconds. Absent: none. */
  queueMs?: number;
}

/**
 * A runtime that scores documents for a query with one model.
 *
 * Errors are `ApiError`s: 400 `invalid_value` (param `query` or `documents`) for input that an upstream rejects, 503
 * `engine_unavailable`. An aborted signal ends a call immediately by throwing its reason, and frees its resources.
 */
export interface RerankEngine {
  /** Returns the last known state, without I/O. */
  backend(): Backend;
  /** Absent: `DEFAULT_RERANK_SCORE_WEIGHTS`. */
  readonly weights?: RerankScoreWeights;
  /** Scores documents of any length; an empty document scores 0. Scores do not depend on the other documents. */
  rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking>;
  /** Health check: resolves when the engine responds. Throws an Error with a message for operators otherwise. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. Idempotent. */
  close(): Promise<void>;
}
