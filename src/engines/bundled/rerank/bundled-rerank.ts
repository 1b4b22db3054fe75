import { readFileSync } from 'node:fs';
import type { Backend } from '../../engine.ts';
import type { RerankEngine, RerankEngineRequest, Reranking, RerankScoreWeights } from '../../rerank-engine.ts';
import { SharedThread } from '../shared-thread.ts';
import { Judging } from './judging.ts';
import type { Portion, PortionResult } from './thread.ts';

/** Calls at once; each holds its documents in memory. */
const MAX_CALLS = 1024;
/** Characters of calls at once: about a minute of work. One call alone may have more. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
/** A step takes milliseconds, a document of a megabyte a second, and loading less: a thread that needs longer hangs. */
const STEP_LIMIT_MS = 20_000;

/** A rerank model in a file of weights, and the embedding model whose rows it was trained on; see their cards. */
export interface BundledRerankOptions {
  file: string;
  embedderFile: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Calls at once; 1024 unless given. */
  maxCalls?: number;
}

/**
 * Judges documents with the model that comes with Quire, in a thread of its own. Calls take turns, a few documents at a
 * time, so that a short one does not wait for the end of a long one. Nothing is loaded before the first call or `check`.
 */
export function createBundledRerank(options: BundledRerankOptions): RerankEngine {
  return new BundledRerank(options);
}

/**
 * Measured on the development collections (`docs/decisions/0012-search.md`, `0013-grounding.md`). The model scores each
 * document by itself, which is worse than the search where the words of the whole collection decide: half of each is best.
 * Ten chunks of usual size have about 130 sentences, which take 50 ms.
 */
const WEIGHTS: RerankScoreWeights = { searchWeight: 0.5, chunkWeight: 30, maxSentences: 192 };

class BundledRerank implements RerankEngine {
  readonly weights = WEIGHTS;
  readonly #name: string;
  readonly #thread: SharedThread<Portion, PortionResult, number>;

  constructor({ file, embedderFile, name, maxCalls = MAX_CALLS }: BundledRerankOptions) {
    this.#name = name;
    this.#thread = new SharedThread({
      name: 'rerank',
      script: new URL('./thread.ts', import.meta.url),
      data: () => ({ weights: readFileSync(file), embedder: readFileSync(embedderFile) }),
      limitMs: STEP_LIMIT_MS,
      maxCalls,
      maxCharacters: MAX_CHARACTERS,
    });
  }

  backend(): Backend {
    const { loaded, isReady } = this.#thread;
    return { engine: 'bundled', model: this.#name, parameters: loaded, ready: isReady };
  }

  rerank(request: RerankEngineRequest, signal: AbortSignal): Promise<Reranking> {
    return this.#thread.run(new Judging(request), request.scope ?? '', signal);
  }

  check(signal: AbortSignal): Promise<void> {
    return this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}
