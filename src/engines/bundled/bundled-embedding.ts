import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  EMBEDDING_WORKER,
  Embedder,
  type EmbeddingPortion,
  type EmbeddingPortionResult,
  ModelThread,
} from '@quire/bundled-models';
import { type ApiError, engineUnavailable, tokenLimitExceeded } from '../../errors.ts';
import {
  EMBEDDING_DIMENSIONS,
  type EmbeddingEngine,
  type EmbeddingRequest,
  type Embeddings,
} from '../embedding-engine.ts';
import type { Backend } from '../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../fair-admission.ts';
import { type EmbeddingOutcome, EmbeddingQueue, type EmbeddingTask, QueuedEmbedding } from './embedding-queue.ts';

/** Queued calls. Each holds its texts in memory. */
const MAX_QUEUED_CALLS = 1024;
/** Texts of all queued calls: their vectors take 256 MB. A single call may have more. */
const MAX_QUEUED_TEXTS = 65_536;
/** Characters of all queued calls: about six seconds of work. A single call may have more. */
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;
/** `Retry-After` of a full queue. A step takes milliseconds. */
const RETRY_AFTER_SECONDS = 1;
/** Timeout of a step. A step takes milliseconds, loading 0.1 s. */
const STEP_TIMEOUT_MS = 20_000;
/**
 * Calls up to this size (queries) are embedded on the calling thread in 0.1 ms. The hand-over to the worker would cost as
 * much, and queries would queue behind documents.
 */
const INLINE_CHARACTERS = 512;
const INLINE_TEXTS = 4;

/** File and limits of the bundled embedding model. */
export interface BundledEmbeddingOptions {
  /** The weights; the model card has the format. */
  file: string;
  /** Name of the model in `GET /v1/models`. */
  name: string;
  /** Queued calls; 1024 by default. */
  maxQueuedCalls?: number;
}

/**
 * Creates the engine of the bundled embedding model. Short calls run on the calling thread, others in one worker thread,
 * batched over concurrent calls. Both share one copy of the weights, which is loaded at the first call or `check`.
 */
export function createBundledEmbedding(options: BundledEmbeddingOptions): EmbeddingEngine {
  return new BundledEmbedding(options);
}

/** Returns a token counter of the bundled embedding model; the file is read at the first call. */
export function createTokenCounter(file: string): (text: string) => number {
  let embedder: Embedder | null = null;
  return (text) => {
    embedder ??= new Embedder(readFileSync(file));
    return embedder.countTokens(text);
  };
}

/** The model on the calling thread. */
interface LoadedModel {
  embedder: Embedder;
  /** The weights, shared with the worker. */
  bytes: Uint8Array;
  fingerprint: string;
}

class BundledEmbedding implements EmbeddingEngine {
  /** Highest mean nDCG@10 of the development collections (`docs/develop/decisions/0012-search.md`). */
  readonly hybridWeight = 0.2;
  readonly #options: BundledEmbeddingOptions;
  readonly #queue = new EmbeddingQueue();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, RETRY_AFTER_SECONDS));
  readonly #thread: ModelThread<EmbeddingPortion[], EmbeddingPortionResult[], null>;
  #model: LoadedModel | null = null;
  #isRunning = false;
  #closed: ApiError | null = null;

  constructor(options: BundledEmbeddingOptions) {
    this.#options = options;
    const data = () => this.#read().bytes;
    this.#thread = new ModelThread({ name: 'embedding', script: EMBEDDING_WORKER, data, timeoutMs: STEP_TIMEOUT_MS });
  }

  backend(): Backend {
    const parameters = this.#model?.embedder.parameters ?? null;
    const ready = this.#model !== null && this.#closed === null;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  fingerprint(): string {
    return this.#read().fingerprint;
  }

  /** The model was trained without prefixes, so `purpose` has no effect. */
  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const { texts, maxTokensPerText, scope = '' } = request;
    const limit = maxTokensPerText ?? Number.POSITIVE_INFINITY;
    const createLimitError = (index: number) => tokenLimitExceeded(request.nameParam(index), limit);
    const { vectors, tokens, queueMs } = await this.#process(
      { texts, limit, withVectors: true, scope },
      createLimitError,
      signal,
    );
    return { vectors, tokens: tokens.reduce((sum, count) => sum + count, 0), queueMs };
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    const task = { texts, limit: Number.POSITIVE_INFINITY, withVectors: false, scope };
    const { tokens } = await this.#process(task, () => new RangeError('unlimited'), signal);
    return tokens;
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    this.#read();
    await this.#thread.load(signal);
  }

  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const call of this.#queue.clear()) call.fail(this.#closed);
    await this.#thread.close(this.#closed);
  }

  async #process(
    task: EmbeddingTask,
    createLimitError: (index: number) => Error,
    signal: AbortSignal,
  ): Promise<EmbeddingOutcome> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    if (isShort(task.texts)) return this.#processInline(task, createLimitError);
    const call = new QueuedEmbedding(task, createLimitError);
    const end = (reason: unknown) => {
      this.#queue.remove(call);
      call.fail(reason);
    };
    const ticket = this.#enterQueue(call, task.scope, end);
    const abort = () => end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#queue.add(call);
    void this.#runSteps();
    try {
      return await call.promise;
    } finally {
      signal.removeEventListener('abort', abort);
      ticket.leave();
    }
  }

  #processInline(
    { texts, limit, withVectors }: EmbeddingTask,
    createLimitError: (index: number) => Error,
  ): EmbeddingOutcome {
    const { embedder } = this.#readOrUnavailable();
    const outcome: EmbeddingOutcome = { tokens: [], vectors: [], queueMs: 0 };
    for (const [i, text] of texts.entries()) {
      const { vector, tokens } = withVectors
        ? embedder.embed(text, limit)
        : { vector: null, tokens: embedder.countTokens(text, limit) };
      if (tokens > limit) throw createLimitError(i);
      outcome.tokens.push(tokens);
      if (vector) outcome.vectors.push(vector);
    }
    return outcome;
  }

  /** Throws 503 when the queue is full and no other organization occupies more of it. */
  #enterQueue(call: QueuedEmbedding, scope: string, evict: (error: ApiError) => void): AdmissionTicket {
    const { maxQueuedCalls = MAX_QUEUED_CALLS } = this.#options;
    return this.#admission.enter({
      scope,
      get share() {
        return Math.max(
          1 / maxQueuedCalls,
          call.remainingTexts / MAX_QUEUED_TEXTS,
          call.characters / MAX_QUEUED_CHARACTERS,
        );
      },
      evict,
    });
  }

  /** Runs steps until the queue is empty. */
  async #runSteps(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let step = this.#queue.takeStep(); step !== null && !this.#closed; step = this.#queue.takeStep()) {
      try {
        const results = await this.#thread.run(step.portions);
        for (const [i, call] of step.calls.entries()) {
          if (call.addResult(results[i] as EmbeddingPortionResult)) this.#queue.remove(call);
        }
      } catch (error) {
        const reason = this.#closed ?? engineUnavailable('The embedding model failed to answer.', 1, error);
        for (const call of step.calls) {
          this.#queue.remove(call);
          call.fail(reason);
        }
      }
    }
    this.#isRunning = false;
  }

  #readOrUnavailable(): LoadedModel {
    try {
      return this.#read();
    } catch (error) {
      throw engineUnavailable('The embedding model failed to answer.', 1, error);
    }
  }

  #read(): LoadedModel {
    if (this.#model !== null) return this.#model;
    const file = readFileSync(this.#options.file);
    const bytes = new Uint8Array(new SharedArrayBuffer(file.length));
    bytes.set(file);
    const embedder = new Embedder(bytes);
    if (embedder.dimensions !== EMBEDDING_DIMENSIONS) {
      throw new Error(`the embedding model gives ${embedder.dimensions} floats, not ${EMBEDDING_DIMENSIONS}`);
    }
    const hash = createHash('sha256').update(file).digest('hex');
    this.#model = { embedder, bytes, fingerprint: `sha256:${hash};${EMBEDDING_DIMENSIONS};l2;no-prefix` };
    return this.#model;
  }
}

function isShort(texts: readonly string[]): boolean {
  if (texts.length > INLINE_TEXTS) return false;
  return texts.reduce((sum, text) => sum + text.length, 0) <= INLINE_CHARACTERS;
}
