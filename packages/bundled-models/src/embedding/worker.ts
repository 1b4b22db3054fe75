/** Worker thread of the embedding model, started with the bytes of the weights. */
import { workerData } from 'node:worker_threads';
import { serveModel } from '../model-thread.ts';
import { Embedder } from './embedder.ts';

/** Texts of one call that are embedded in one step. */
export interface EmbeddingPortion {
  texts: string[];
  /** Maximum tokens of a text. */
  limit: number;
  /** False when only the token counts are needed. */
  withVectors: boolean;
}

/** The result of a portion. */
export interface EmbeddingPortionResult {
  /** Token counts up to and including the first text over the limit; later texts are not read. */
  tokens: number[];
  /** The vectors, concatenated; empty without `withVectors`. */
  vectors: Float32Array<ArrayBuffer>;
}

const embedder = new Embedder(workerData);

serveModel<EmbeddingPortion[], EmbeddingPortionResult[], null>(
  null,
  (portions) => portions.map(embedPortion),
  (results) => results.map(({ vectors }) => vectors.buffer),
);

function embedPortion({ texts, limit, withVectors }: EmbeddingPortion): EmbeddingPortionResult {
  const vectors = new Float32Array(withVectors ? texts.length * embedder.dimensions : 0);
  const tokens: number[] = [];
  for (const text of texts) {
    const result = withVectors
      ? embedder.embed(text, limit)
      : { vector: null, tokens: embedder.countTokens(text, limit) };
    if (result.vector) vectors.set(result.vector, tokens.length * embedder.dimensions);
    tokens.push(result.tokens);
    if (result.tokens > limit) break;
  }
  return { tokens, vectors };
}
