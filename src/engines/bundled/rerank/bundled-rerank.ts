import { readFileSync } from 'node:fs';
import { type ApiError, engineUnavailable } from '../../../errors.ts';
import type { Backend } from '../../engine.ts';
import type { RerankEngine, Reranking, RerankRequest } from '../../rerank-engine.ts';
import { ModelThread } from '../model-thread.ts';
import { Judging } from './judging.ts';
import type { Portion, PortionResult } from './thread.ts';

/** Calls that wait at once; each holds its documents in memory. */
const MAX_WAITING_CALLS = 1024;
/** Characters of waiting calls at once: about a minute of work. One call alone may have more. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** A step takes milliseconds, a document of a megabyte a second, and loading less: a thread that needs longer hangs. */
const STEP_LIMIT_MS = 20_000;

/** A rerank model in a file of weights, and the embedding model whose rows it was trained on; see their cards. */
export interface BundledRerankOptions {
  file: string;
  embedderFile: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Calls that wait at once; 1024 unless given. */
  maxWaitingCalls?: number;
}

/**
 * Judges documents with the model that comes with Quire, in a thread of its own. Calls take turns, a few documents at a
 * time, so that a short one does not wait for the end of a long one. Nothing is loaded before the first call or `check`.
 */
export function createBundledRerank(options: BundledRerankOptions): RerankEngine {
  return new BundledRerank(options);
}

class BundledRerank implements RerankEngine {
  readonly #options: BundledRerankOptions;
  readonly #thread: ModelThread<Portion, PortionResult, number>;
  /** In the order in which they get the thread. */
  readonly #waiting = new Set<Judging>();
  #isWorking = false;
  #closed: ApiError | null = null;

  constructor(options: BundledRerankOptions) {
    this.#options = options;
    const { file, embedderFile } = options;
    this.#thread = new ModelThread({
      name: 'rerank',
      script: new URL('./thread.ts', import.meta.url),
      data: () => ({ weights: readFileSync(file), embedder: readFileSync(embedderFile) }),
      limitMs: STEP_LIMIT_MS,
    });
  }

  backend(): Backend {
    const parameters = this.#thread.loaded;
    const ready = parameters !== null && this.#closed === null;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  async rerank(request: RerankRequest, signal: AbortSignal): Promise<Reranking> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    this.#refuseTooMany();
    const judging = new Judging(request);
    const leave = () => {
      this.#waiting.delete(judging);
      judging.fail(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.add(judging);
    void this.#work();
    try {
      return await judging.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#thread.load(signal);
  }

  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const judging of this.#waiting) judging.fail(this.#closed);
    this.#waiting.clear();
    await this.#thread.close(this.#closed);
  }

  #refuseTooMany(): void {
    let characters = 0;
    for (const waiting of this.#waiting) characters += waiting.characters;
    const isFull = this.#waiting.size >= (this.#options.maxWaitingCalls ?? MAX_WAITING_CALLS);
    if (!isFull && characters < MAX_WAITING_CHARACTERS) return;
    throw engineUnavailable('The rerank model has too much to do.', 1);
  }

  /** Steps until nothing waits: the only place where the thread gets work. Whoever has had a turn goes behind the others. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let judging = first(this.#waiting); judging && !this.#closed; judging = first(this.#waiting)) {
      try {
        const isDone = judging.take(await this.#thread.run(judging.portion()));
        const isWanted = this.#waiting.delete(judging);
        if (isWanted && !isDone) this.#waiting.add(judging);
      } catch (error) {
        this.#waiting.delete(judging);
        judging.fail(this.#closed ?? engineUnavailable('The rerank model failed to answer.', 1, error));
      }
    }
    this.#isWorking = false;
  }
}

function first(waiting: ReadonlySet<Judging>): Judging | undefined {
  const [judging] = waiting;
  return judging;
}
