/** The thread that judges documents. Started by `bundled-rerank.ts`, with the bytes of both files of weights. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadMessage } from '../model-thread.ts';
import { type Judged, Reranker } from './reader.ts';

/** Documents of one call that are judged in one step. */
export interface Portion {
  query: string;
  documents: string[];
}

/** What came of a portion. */
export interface PortionResult {
  judged: Judged[];
  /** Tokens of the query, which counts once in a call. */
  queryTokens: number;
}

const reranker = new Reranker(workerData.weights, workerData.embedder);

function say(message: ThreadMessage<number, PortionResult>): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', ({ query, documents }: Portion) => {
  const judged = documents.map((document) => reranker.judge(query, document));
  say({ type: 'done', result: { judged, queryTokens: reranker.tokensOf(query) } });
});

say({ type: 'loaded', loaded: reranker.parameters });
