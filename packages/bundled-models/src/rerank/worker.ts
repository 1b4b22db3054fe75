/** Worker thread of the reranker, started with the bytes of both weights files. */
import { workerData } from 'node:worker_threads';
import { serveModel } from '../model-thread.ts';
import { Reranker, type ScoredDocument } from './reranker.ts';

/** Documents of one call that are scored together. */
export interface RerankPortion {
  query: string;
  documents: string[];
}

/** The result of a portion. */
export interface RerankPortionResult {
  scored: ScoredDocument[];
  /** Tokens of the query, which are counted once per call. */
  queryTokens: number;
}

const reranker = new Reranker(workerData.weights, workerData.embedder);

serveModel<RerankPortion[], RerankPortionResult[], number>(reranker.parameters, (portions) =>
  portions.map(({ query, documents }) => ({
    scored: documents.map((document) => reranker.score(query, document)),
    queryTokens: reranker.countQueryTokens(query),
  })),
);
