/** Worker thread of the embedding model, started with the bytes of the weights. */
import { workerData } from 'node:worker_threads';
import { serveModel } from '../model-thread.ts';
import { type EmbeddedText, Embedder, type EmbeddingPortion } from './embedder.ts';
import { PassageMatcher } from './passage-matcher.ts';

const embedder = new Embedder(workerData);
let matcher: PassageMatcher | null = null;

function process(portion: EmbeddingPortion): EmbeddedText {
  if (portion.query === undefined) return embedder.embedPortion(portion);
  matcher ??= new PassageMatcher(workerData);
  return { vector: null, tokens: 0, similarity: matcher.match(portion.query, portion.text) };
}

serveModel<EmbeddingPortion[], EmbeddedText[], null>(
  null,
  (portions) => portions.map(process),
  (results) => results.flatMap(({ vector }) => (vector === null ? [] : [vector.buffer as ArrayBuffer])),
);
