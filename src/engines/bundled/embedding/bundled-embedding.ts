import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ApiError, engineUnavailable, tokenLimitExceeded } from '../../../errors.ts';
import {
  EMBEDDING_DIMENSIONS,
  type EmbeddingEngine,
  type EmbeddingRequest,
  type Embeddings,
} from '../../embedding-engine.ts';
import type { Backend } from '../../engine.ts';
import { type AdmissionTicket, FairAdmission } from '../../fair-admission.ts';
import { ModelThread } from '../model-thread.ts';
import { EmbeddingQueue, type Outcome, QueuedCall, type Wanted } from './embedding-queue.ts';
import { Embedder } from './reader.ts';
import type { Portion, PortionResult } from './thread.ts';

/** Calls that wait at once; each holds its texts in memory. */
const MAX_WAITING_CALLS = 1024;
/** Texts of waiting calls at once: their vectors have 256 MB. One call alone may have more. */
const MAX_WAITING_TEXTS = 65_536;
/** Characters of waiting calls at once: about six seconds of work. One call alone may have more. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** What a caller is told to wait when there are too many: a step takes milliseconds. */
const BUSY_RETRY_SECONDS = 1;
/** A step takes milliseconds, and loading a tenth of a second: a thread that needs longer hangs. */
const STEP_LIMIT_MS = 20_000;
/**
 * A call of no more is answered in this thread, in a tenth of a millisecond: handing it over would cost this thread half
 * as much, the caller as much again, and a query would wait for its turn behind the documents.
 */
const HERE_CHARACTERS = 512;
const HERE_TEXTS = 4;

/** An embedding model in a file of weights; see its card for the format. */
export interface BundledEmbeddingOptions {
  file: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Calls that wait at once; 1024 unless given. */
  maxWaitingCalls?: number;
}

/**
 * Embeds with the model that comes with Quire: a few short texts at once, all else in a thread of its own, in steps that
 * texts of several calls share. Nothing is loaded before the first call or `check`; the weights are in memory once.
 */
export function createBundledEmbedding(options: BundledEmbeddingOptions): EmbeddingEngine {
  return new BundledEmbedding(options);
}

/** Counts tokens as a model does whose file is read with the first text: for models whose own tokenizer is out of reach. */
export function tokenCounter(file: string): (text: string) => number {
  let embedder: Embedder | null = null;
  return (text) => {
    embedder ??= new Embedder(readFileSync(file));
    return embedder.count(text);
  };
}

/** What this thread keeps of the model. */
interface Model {
  embedder: Embedder;
  /** The file, which the thread reads too. */
  bytes: Uint8Array;
  fingerprint: string;
}

class BundledEmbedding implements EmbeddingEngine {
  /** Highest mean nDCG@10 of the development collections (`docs/decisions/0012-search.md`). */
  readonly hybridWeight = 0.2;
  readonly #options: BundledEmbeddingOptions;
  readonly #queue = new EmbeddingQueue();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  readonly #thread: ModelThread<Portion[], PortionResult[], null>;
  #model: Model | null = null;
  #isWorking = false;
  #closed: ApiError | null = null;

  constructor(options: BundledEmbeddingOptions) {
    this.#options = options;
    const script = new URL('./thread.ts', import.meta.url);
    const data = () => this.#read().bytes;
    this.#thread = new ModelThread({ name: 'embedding', script, data, limitMs: STEP_LIMIT_MS });
  }

  backend(): Backend {
    const parameters = this.#model?.embedder.parameters ?? null;
    const ready = this.#model !== null && this.#closed === null;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  fingerprint(): string {
    return this.#read().fingerprint;
  }

  /** The model was taught without words before texts: the purpose changes nothing. */
  async embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    const { texts, maxTokensPerText, scope = '' } = request;
    const limit = maxTokensPerText ?? Number.POSITIVE_INFINITY;
    const tooLong = (index: number) => tokenLimitExceeded(request.paramOf(index), limit);
    const { vectors, tokens } = await this.#have({ texts, limit, vectors: true, scope }, tooLong, signal);
    return { vectors, tokens: tokens.reduce((sum, count) => sum + count, 0) };
  }

  async countTokens(texts: readonly string[], signal: AbortSignal, scope = ''): Promise<number[]> {
    const wanted = { texts, limit: Number.POSITIVE_INFINITY, vectors: false, scope };
    const { tokens } = await this.#have(wanted, () => new RangeError('there is no limit'), signal);
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

  async #have(wanted: Wanted, tooLong: (index: number) => Error, signal: AbortSignal): Promise<Outcome> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    if (isShort(wanted.texts)) return this.#haveHere(wanted, tooLong);
    const call = new QueuedCall(wanted, tooLong);
    const end = (reason: unknown) => {
      this.#queue.remove(call);
      call.fail(reason);
    };
    const ticket = this.#enterQueue(call, wanted.scope, end);
    const leave = () => end(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#queue.add(call);
    void this.#work();
    try {
      return await call.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      ticket.leave();
    }
  }

  #haveHere({ texts, limit, vectors }: Wanted, tooLong: (index: number) => Error): Outcome {
    const { embedder } = this.#readOrUnavailable();
    const outcome: Outcome = { tokens: [], vectors: [] };
    for (const [i, text] of texts.entries()) {
      const read = vectors ? embedder.embed(text, limit) : { vector: null, tokens: embedder.count(text, limit) };
      if (read.tokens > limit) throw tooLong(i);
      outcome.tokens.push(read.tokens);
      if (read.vector) outcome.vectors.push(read.vector);
    }
    return outcome;
  }

  /** Throws 503 where the queue is full and no other organization has more in it. */
  #enterQueue(call: QueuedCall, scope: string, evict: (error: ApiError) => void): AdmissionTicket {
    const { maxWaitingCalls = MAX_WAITING_CALLS } = this.#options;
    return this.#admission.enter({
      scope,
      get share() {
        return Math.max(1 / maxWaitingCalls, call.left / MAX_WAITING_TEXTS, call.characters / MAX_WAITING_CHARACTERS);
      },
      evict,
    });
  }

  /** Steps until nothing waits: the only place where the queue gets shorter and the thread gets work. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let step = this.#queue.step(); step !== null && !this.#closed; step = this.#queue.step()) {
      try {
        const results = await this.#thread.run(step.portions);
        for (const [i, call] of step.calls.entries()) {
          if (call.take(results[i] as PortionResult)) this.#queue.remove(call);
        }
      } catch (error) {
        const reason = this.#closed ?? engineUnavailable('The embedding model failed to answer.', 1, error);
        for (const call of step.calls) {
          this.#queue.remove(call);
          call.fail(reason);
        }
      }
    }
    this.#isWorking = false;
  }

  #readOrUnavailable(): Model {
    try {
      return this.#read();
    } catch (error) {
      throw engineUnavailable('The embedding model failed to answer.', 1, error);
    }
  }

  #read(): Model {
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
  if (texts.length > HERE_TEXTS) return false;
  return texts.reduce((sum, text) => sum + text.length, 0) <= HERE_CHARACTERS;
}
