import { ModelThread, type ModelThreadOptions } from '@quire/bundled-models';
import { type ApiError, engineUnavailable } from '../../errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { FairAdmission } from '../fair-admission.ts';

/** `Retry-After` of a full queue. A step takes milliseconds. */
const RETRY_AFTER_SECONDS = 1;

/** A call that is processed in portions. */
export interface PortionedCall<Portion, Result, Outcome> {
  /** Characters of the portions that are still to come. */
  readonly characters: number;
  /** Fraction of the queue that the call fills, where that is more than its characters fill. Absent: 0. */
  readonly share?: number;
  /** Cost of the next portion in characters; null when there is none. Required with `stepCharacters`. */
  readonly nextCost?: number | null;
  /** Returns the next portion. Called only while there is one. */
  portion(): Portion;
  /**
   * Adds the result of the oldest portion without one. Returns the outcome after the last portion, else null. Throws to
   * fail the call.
   */
  take(result: Result): Outcome | null;
}

/** Options of a shared thread. `name` also names the model in error messages. */
export interface SharedThreadOptions extends ModelThreadOptions {
  /** Concurrent calls, which hold their texts in memory. */
  maxCalls: number;
  /** Characters of all concurrent calls. A single call may have more. */
  maxCharacters: number;
  /** Maximum cost of the portions that the thread is sent together. Absent: one portion at a time. */
  stepCharacters?: number;
}

/** A call in the queue. */
interface QueuedWork<Portion, Result> {
  /** The organization. */
  scope: string;
  /** The call is complete or has failed, or the caller has left. */
  isOver: boolean;
  readonly nextCost: number | null;
  portion(): Portion;
  take(result: Result): void;
  fail(reason: unknown): void;
}

/**
 * A worker thread with a model that organizations share round-robin, and the calls of each organization, one portion at
 * a time. A short call waits for one portion of each other organization, and for one of each other call of its own.
 * Starts with the first call or `load`.
 */
export class SharedThread<Portion, Result, Loaded> {
  readonly #options: SharedThreadOptions;
  readonly #thread: ModelThread<Portion[], Result[], Loaded>;
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
    return this.loaded !== null && !this.isClosed;
  }

  get isClosed(): boolean {
    return this.#closed !== null;
  }

  /** Throws 503 once the thread is closed. */
  requireOpen(): void {
    if (this.#closed) throw this.#closed;
  }

  /** Creates the 503 of a call that the model did not answer. */
  createFailure(cause: unknown): ApiError {
    return engineUnavailable(`The ${this.#options.name} model failed to answer.`, 1, cause);
  }

  /**
   * Runs a call for an organization (`scope`). Returns its outcome with its time in the queue. Rejects with 503
   * `engine_unavailable` when the queue is full, when the thread exits and when it is closed, and with the signal's
   * reason.
   */
  async run<Outcome extends object>(
    call: PortionedCall<Portion, Result, Outcome>,
    scope: string,
    signal: AbortSignal,
  ): Promise<Outcome & { queueMs: number }> {
    this.requireOpen();
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
        return Math.max(1 / maxCalls, call.characters / maxCharacters, call.share ?? 0);
      },
      evict: end,
    });
    const work: QueuedWork<Portion, Result> = {
      scope,
      isOver: false,
      get nextCost() {
        return call.nextCost ?? null;
      },
      portion: () => {
        ticket.markStarted();
        queueMs ??= performance.now() - queuedAt;
        return call.portion();
      },
      take: (result) => {
        try {
          const outcome = call.take(result);
          if (outcome === null) return;
          work.isOver = true;
          resolve(outcome);
        } catch (error) {
          end(error);
        }
      },
      fail: end,
    };
    const abort = () => end(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#queue.add(scope, work);
    void this.#runSteps();
    try {
      return { ...(await promise), queueMs: queueMs ?? 0 };
    } finally {
      signal.removeEventListener('abort', abort);
      ticket.leave();
    }
  }

  /** Resolves when the model is loaded; rejects like `ModelThread.load`. */
  async load(signal: AbortSignal): Promise<void> {
    this.requireOpen();
    await this.#thread.load(signal);
  }

  /** Terminates the thread. Queued and later calls reject with 503. May be called twice. */
  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const work of this.#queue.clear()) work.fail(this.#closed);
    await this.#thread.close(this.#closed);
  }

  /** Runs steps until the queue is empty. */
  async #runSteps(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let step = this.#takeStep(); step.length > 0; step = this.#takeStep()) {
      try {
        this.requireOpen();
        const results = await this.#thread.run(step.map(({ portion }) => portion));
        for (const [i, { work }] of step.entries()) {
          if (!work.isOver) work.take(results[i] as Result);
          // With one portion a step, a call goes to the end of its organization's queue after the portion.
          if (this.#options.stepCharacters === undefined && !work.isOver) this.#queue.add(work.scope, work);
        }
      } catch (error) {
        for (const { work } of step) work.fail(this.#closed ?? this.createFailure(error));
      }
    }
    this.#isRunning = false;
  }

  /** Takes the portions of the next step, one of each call in turn, so that short calls do not wait for long ones. */
  #takeStep(): { work: QueuedWork<Portion, Result>; portion: Portion }[] {
    const { stepCharacters = 0 } = this.#options;
    const step: { work: QueuedWork<Portion, Result>; portion: Portion }[] = [];
    let cost = 0;
    for (let work = this.#queue.peek(); work !== undefined; work = this.#queue.peek()) {
      cost += work.nextCost ?? 0;
      if (step.length > 0 && cost > stepCharacters) break;
      this.#queue.take();
      step.push({ work, portion: work.portion() });
      if (work.nextCost !== null) this.#queue.add(work.scope, work);
      if (stepCharacters === 0) break;
    }
    return step;
  }
}
