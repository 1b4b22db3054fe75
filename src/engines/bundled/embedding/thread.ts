/** The thread that embeds. Started by `bundled-embedding.ts`, with the bytes of the weights. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadMessage } from '../model-thread.ts';
import { Embedder } from './reader.ts';

/** Texts of one call that are read in one step. */
export interface Portion {
  texts: string[];
  /** Tokens of a text that are allowed. */
  limit: number;
  /** Whether the vectors are wanted, or the counts alone. */
  vectors: boolean;
}

/** What came of a portion. */
export interface PortionResult {
  /** Of each text, up to the first that has too many: nothing after it is read. */
  tokens: number[];
  /** Of the texts before it, end to end; empty where only counts are wanted. */
  vectors: Float32Array<ArrayBuffer>;
}

const embedder = new Embedder(workerData);

function say(message: ThreadMessage<null, PortionResult[]>, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

parentPort?.on('message', (portions: Portion[]) => {
  const result = portions.map(readPortion);
  say(
    { type: 'done', result },
    result.map(({ vectors }) => vectors.buffer),
  );
});

function readPortion({ texts, limit, vectors: areWanted }: Portion): PortionResult {
  const vectors = new Float32Array(areWanted ? texts.length * embedder.dimensions : 0);
  const tokens: number[] = [];
  for (const text of texts) {
    if (areWanted) {
      const embedded = embedder.embed(text, limit);
      if (embedded.vector) vectors.set(embedded.vector, tokens.length * embedder.dimensions);
      tokens.push(embedded.tokens);
    } else tokens.push(embedder.count(text, limit));
    if ((tokens.at(-1) ?? 0) > limit) break;
  }
  return { tokens, vectors };
}

say({ type: 'loaded', loaded: null });
