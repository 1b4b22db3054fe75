import { readFileSync } from 'node:fs';
import { RERANK_WORKER, RerankCall, type RerankPortion, type RerankPortionResult } from '@quire/bundled-models';
import type { Backend } from '../engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking, RerankScoreWeights } from '../rerank-engine.ts';
import { SharedThread } from './shared-thread.ts';

/** Concurrent calls. Each holds its documents in memory. */
const MAX_CALLS = 1024;
/** Characters of all concurrent calls: about a minute of work. A single call may have more. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** Timeout of a portion. A portion takes milliseconds, a document of a megabyte one second, loading less than that. */
const PORTION_TIMEOUT_MS = 20_000;

/** Files and limits of the bundled reranker. */
export interface BundledRerankOptions {
  /** The rerank model. */
  file: string;
  /** The embedding model that it was trained on. */
  embedderFile: string;
  /** Name of the model in `GET /v1/models`. */
  name: string;
  /** Concurrent calls; 1024 by default. */
  maxCalls?: number;
}

/**
 * Creates the engine of the bundled reranker. It runs in one worker thread, which loads the model at the first call or
 * `check`. Calls share the thread: each gets a portion in turn, so that short calls do not wait for long ones.
 */
export function createBundledRerank(options: BundledRerankOptions): RerankEngine {
  return new BundledRerank(options);
}

/**
 * Tuned on the development collections (`docs/develop/decisions/0012-search.md`, `0013-grounding.md`). The model does
 * not know the term statistics of the collection, so half of a chunk's score is the search score. Ten chunks have about
 * 130 sentences, which take 50 ms.
 */
const WEIGHTS: RerankScoreWeights = { searchWeight: 0.5, chunkWeight: 30, maxSentences: 192 };

class BundledRerank implements RerankEngine {
  readonly weights = WEIGHTS;
  readonly #name: string;
  readonly #thread: SharedThread<RerankPortion, RerankPortionResult, number>;

  constructor({ file, embedderFile, name, maxCalls = MAX_CALLS }: BundledRerankOptions) {
    this.#name = name;
    this.#thread = new SharedThread({
      name: 'rerank',
      script: RERANK_WORKER,
      data: () => ({ weights: readFileSync(file), embedder: readFileSync(embedderFile) }),
      timeoutMs: PORTION_TIMEOUT_MS,
      maxCalls,
      maxCharacters: MAX_CHARACTERS,
    });
  }

  backend(): Backend {
    const { loaded, isReady } = this.#thread;
    return { engine: 'bundled', model: this.#name, parameters: loaded, ready: isReady };
  }

  rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    return this.#thread.run(new RerankCall(request), request.scope ?? '', signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
