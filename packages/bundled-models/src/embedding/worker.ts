/** Worker thread of the embedding model, started with the bytes of the weights. */
import { workerData } from 'node:worker_threads';
import { serveModel } from '../model-thread.ts';
import { type EmbeddedText, Embedder, type EmbeddingPortion } from './embedder.ts';

const embedder = new Embedder(workerData);

serveModel<EmbeddingPortion[], EmbeddedText[], null>(
  null,
  (portions) => portions.map((portion) => embedder.embedPortion(portion)),
  (results) => results.flatMap(({ vector }) => (vector === null ? [] : [vector.buffer as ArrayBuffer])),
);
