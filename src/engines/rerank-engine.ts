/** The port of the engines that judge how well documents answer a query. Every implementation passes `test/rerank-conformance.ts`. */
import type { Backend } from './engine.ts';

/** One query with the documents to judge. */
export interface RerankEngineRequest {
  query: string;
  documents: readonly string[];
  /** The organization that the queue is shared fairly by. Absent: work of the service itself. */
  scope?: string;
}

/** How the scores of a reranker combine with those of a search. */
export interface RerankScoreWeights {
  /** Weight of the search score in the score of a reranked chunk, 0 to 1. */
  searchWeight: number;
  /** Weight of the search score of a chunk, added to the logit of the rerank score of its sentences. */
  chunkWeight: number;
  /** Sentences to rank for one prompt: bounds the time before the first token. */
  maxSentences: number;
}

/**
 * Weights for cross-encoders of usual size. They score well without the search score; `chunkWeight` keeps the topic of a
 * sentence that names none. Hundreds of millions of parameters limit the number of sentences.
 */
export const DEFAULT_RERANK_SCORE_WEIGHTS: RerankScoreWeights = { searchWeight: 0, chunkWeight: 10, maxSentences: 64 };

/** What came of one call. */
export interface Reranking {
  /** One of each document, in the order of the documents, 0 to 1. */
  scores: number[];
  /** Tokens that were read, as the engine counts them. */
  tokens: number;
}

/**
 * A runtime that judges documents with one model.
 *
 * Errors are `ApiError`s: 400 `invalid_value` (param `query` or `documents`) for what a server behind it does not take, 503
 * `engine_unavailable`. An aborted signal ends a call by throwing its reason, at once, and frees what it held.
 */
export interface RerankEngine {
  /** Never waits: what is known now. */
  backend(): Backend;
  /** Absent: `DEFAULT_RERANK_SCORE_WEIGHTS`. */
  readonly weights?: RerankScoreWeights;
  /** Judges documents of any length; one without text scores 0. The same query and document score the same beside any others. */
  rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking>;
  /** Resolves when the engine could answer now; otherwise throws an Error with a sentence for the operator. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. May be called twice. */
  close(): Promise<void>;
}
