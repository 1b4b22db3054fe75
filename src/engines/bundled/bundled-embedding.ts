import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { EMBEDDING_WORKER, type EmbeddedText, Embedder, type EmbeddingPortion } from '@quire/bundled-models';
import { tokenLimitExceeded } from '../../errors.ts';
import {
  EMBEDDING_DIMENSIONS,
  type EmbeddingEngine,
  type EmbeddingRequest,
  type Embeddings,
} from '../embedding-engine.ts';
import type { Backend } from '../engine.ts';
import { EmbeddingCall, type EmbeddingOutcome, type EmbeddingTask } from './embedding-call.ts';
import { SharedThread } from './shared-thread.ts';

/** Queued calls. Each holds its texts in memory. */
const MAX_QUEUED_CALLS = 1024;
/** Characters of all queued calls: about six seconds of work. A single call may have more. */
const MAX_QUEUED_CHARACTERS = 64 * 1024 * 1024;
/** Characters of one step: some milliseconds of work. New calls enter the next step. */
const STEP_CHARACTERS = 32_768;
/** Timeout of a step. A step takes milliseconds, loading 0.1 s. */
const STEP_TIMEOUT_MS = 20_000;
/**
 * Calls up to this size (queries) are embedded on the calling thread in 0.1 ms. The hand-over to the worker would cost
 * as much, and queries would queue behind documents.
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
 * Creates the engine of the bundled embedding model. Short calls run on the calling thread, others in one worker
 * thread, batched over concurrent calls. Both share one copy of the weights, which is loaded at the first call or
 * `check`.
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
  readonly #thread: SharedThread<EmbeddingPortion, EmbeddedText, null>;
  #model: LoadedModel | null = null;

  constructor(options: BundledEmbeddingOptions) {
    this.#options = options;
    this.#thread = new SharedThread({
      name: 'embedding',
      script: EMBEDDING_WORKER,
      data: () => this.#read().bytes,
      timeoutMs: STEP_TIMEOUT_MS,
      maxCalls: options.maxQueuedCalls ?? MAX_QUEUED_CALLS,
      maxCharacters: MAX_QUEUED_CHARACTERS,
      stepCharacters: STEP_CHARACTERS,
    });
  }

  backend(): Backend {
    const parameters = this.#model?.embedder.parameters ?? null;
    const ready = this.#model !== null && !this.#thread.isClosed;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  fingerprint(): string {
    return this.#read().fingerprint;
  }

  /** The model was trained without prefixes, so `purpose` has no effect. */
  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const limit = request.maxTokensPerText ?? Number.POSITIVE_INFINITY;
    const createLimitError = (index: number) => tokenLimitExceeded(request.nameParam(index), limit);
    const task = { texts: request.texts, limit, withVectors: true, createLimitError };
    const { vectors, tokens, queueMs } = await this.#process(task, request.scope, signal);
    return { vectors, tokens: tokens.reduce((sum, count) => sum + count, 0), queueMs };
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<number[]> {
    const createLimitError = () => new RangeError('unlimited');
    const task = { texts, limit: Number.POSITIVE_INFINITY, withVectors: false, createLimitError };
    return (await this.#process(task, scope, signal)).tokens;
  }

  async matchPassages(query: string, texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    const limit = Number.POSITIVE_INFINITY;
    const createLimitError = () => new RangeError('unlimited');
    const call = new EmbeddingCall({ texts, limit, withVectors: false, query, createLimitError });
    return (await this.#thread.run(call, scope, signal)).similarities;
  }

  async check(signal: AbortSignal): Promise<void> {
    this.#thread.requireOpen();
    signal.throwIfAborted();
    this.#read();
    await this.#thread.load(signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #process(
    task: EmbeddingTask,
    scope = '',
    signal: AbortSignal,
  ): Promise<EmbeddingOutcome & { queueMs: number }> {
    this.#thread.requireOpen();
    signal.throwIfAborted();
    const call = new EmbeddingCall(task);
    if (!isShort(task.texts)) return this.#thread.run(call, scope, signal);
    const { embedder } = this.#readOrUnavailable();
    let outcome: EmbeddingOutcome = { tokens: [], vectors: [], similarities: [] };
    for (const _ of task.texts) outcome = call.take(embedder.embedPortion(call.portion())) ?? outcome;
    return { ...outcome, queueMs: 0 };
  }

  #readOrUnavailable(): LoadedModel {
    try {
      return this.#read();
    } catch (error) {
      throw this.#thread.createFailure(error);
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
