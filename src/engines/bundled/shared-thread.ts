import { ModelThread, type ModelThreadOptions } from '@quire/bundled-models';
import { type ApiError, engineUnavailable } from '../../errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { FairAdmission } from '../fair-admission.ts';

/** `Retry-After` of a full queue. A portion takes milliseconds. */
const RETRY_AFTER_SECONDS = 1;

/** A call that is processed in portions. */
export interface PortionedCall<Portion, Result, Outcome> {
  /** Characters of the portions that are still to come. */
  readonly characters: number;
  /** Returns the next portion. Called only while there is one. */
  portion(): Portion;
  /** Adds the result of the current portion. Returns the outcome of the call after the last portion, else null. */
  take(result: Result): Outcome | null;
}

/** Options of a shared thread. `name` also names the model in error messages. */
export interface SharedThreadOptions extends ModelThreadOptions {
  /** Concurrent calls, which hold their texts in memory. */
  maxCalls: number;
  /** Characters of all concurrent calls. A single call may have more. */
  maxCharacters: number;
}

/** A call in the queue. */
interface QueuedWork<Portion, Result> {
  /** The organization. */
  scope: string;
  /** The caller has left, or the call has failed. */
  isOver: boolean;
  portion(): Portion;
  /** Returns whether the call is complete. */
  take(result: Result): boolean;
  fail(reason: unknown): void;
}

/**
 * A worker thread with a model that organizations share round-robin, and the calls of each organization, one portion at a time. A short
 * call waits for one portion of each other organization, and for one of each other call of its own. Starts with the first call or `load`.
 */
export class SharedThread<Portion, Result, Loaded> {
  readonly #options: SharedThreadOptions;
  readonly #thread: ModelThread<Portion, Result, Loaded>;
  readonly #queue = new FairQueue<QueuedWork<Portion, Result>>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, RETRY_AFTER_SECONDS));
  #isRunning = false;
  #closed: ApiError | null = null;

  constructor(options: SharedThreadOptions) {
    this.#options = options;
    this.#thread = new ModelThread(options);
  }

  /** See `ModelThread.loaded`. */
  get loaded(): Loaded | null {
    return this.#thread.loaded;
  }

  /** Whether the model is loaded and accepts calls. */
  get isReady(): boolean {
    return this.loaded !== null && this.#closed === null;
  }

  /**
   * Runs a call for an organization (`scope`). Returns its outcome with its time in the queue. Rejects with 503 `engine_unavailable` when the queue is full, when the
   * thread exits and when it is closed, and with the signal's reason.
   */
  async run<Outcome extends object>(
    call: PortionedCall<Portion, Result, Outcome>,
    scope: string,
    signal: AbortSignal,
  ): Promise<Outcome & { queueMs: number }> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const end = (reason: unknown) => {
      work.isOver = true;
      this.#queue.delete(scope, work);
      reject(reason);
    };
    const queuedAt = performance.now();
    let queueMs: number | null = null;
    const { maxCalls, maxCharacters } = this.#options;
    const ticket = this.#admission.enter({
      scope,
      get share() {
        return Math.max(1 / maxCalls, call.characters / maxCharacters);
      },
      evict: end,
    });
    const work: QueuedWork<Portion, Result> = {
      scope,
      isOver: false,
      portion: () => {
        ticket.markStarted();
        queueMs ??= performance.now() - queuedAt;
        return call.portion();
      },
      take: (result) => {
        const outcome = call.take(result);
        if (outcome !== null) resolve(outcome);
        return outcome !== null;
      },
      fail: end,
    };
    const abort = () => end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#queue.add(scope, work);
    void this.#runPortions();
    try {
      return { ...(await promise), queueMs: queueMs ?? 0 };
    } finally {
      signal.removeEventListener('abort', abort);
      ticket.leave();
    }
  }

  /** Resolves when the model is loaded; rejects like `ModelThread.load`. */
  async load(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#thread.load(signal);
  }

  /** Terminates the thread. Queued and later calls reject with 503. May be called twice. */
  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const work of this.#queue.clear()) work.fail(this.#closed);
    await this.#thread.close(this.#closed);
  }

  /** Runs portions until the queue is empty. A call with more portions goes to the end of its organization's queue. */
  async #runPortions(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      try {
        if (this.#closed) throw this.#closed;
        const result = await this.#thread.run(next.portion());
        if (!next.isOver && !next.take(result)) this.#queue.add(next.scope, next);
      } catch (error) {
        next.fail(this.#closed ?? engineUnavailable(`The ${this.#options.name} model failed to answer.`, 1, error));
      }
    }
    this.#isRunning = false;
  }
}
