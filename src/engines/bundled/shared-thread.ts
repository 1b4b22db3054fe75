import { type ApiError, engineUnavailable } from '../../errors.ts';
import { FairAdmission } from '../fair-admission.ts';
import { ModelThread, type ModelThreadOptions } from './model-thread.ts';

/** What a caller is told to wait when there are too many: a portion takes milliseconds. */
const BUSY_RETRY_SECONDS = 1;

/** One call to a model: handed out in portions, and put together again. */
export interface PortionedCall<Portion, Result, Outcome> {
  /** Characters that have not been handed out yet. */
  readonly characters: number;
  /** The next portion. Asked for only while there is one. */
  portion(): Portion;
  /** Takes what came of the portion that is out. Gives what came of the call where it was the last, else null. */
  take(result: Result): Outcome | null;
}

/** How a thread is shared. Its name is the model's too, in what callers are told. */
export interface SharedThreadOptions extends ModelThreadOptions {
  /** Calls at once, the one whose portion the thread has among them; each holds its texts in memory. */
  maxCalls: number;
  /** Characters that those calls have not handed out yet. One call alone may have more. */
  maxCharacters: number;
}

/** Whoever waits for a call. */
interface Waiting<Portion, Result> {
  portion(): Portion;
  /** Whether the call has come to its end. */
  take(result: Result): boolean;
  fail(reason: unknown): void;
}

/**
 * A model in a thread that calls share: they take turns, a portion each, so that a short call does not wait for the end of a long one.
 * Nothing is loaded before the first call or `load`.
 */
export class SharedThread<Portion, Result, Loaded> {
  readonly #options: SharedThreadOptions;
  readonly #thread: ModelThread<Portion, Result, Loaded>;
  /** In the order in which they get the thread; the first one may have it. */
  readonly #waiting = new Set<Waiting<Portion, Result>>();
  readonly #admission = new FairAdmission((message) => engineUnavailable(message, BUSY_RETRY_SECONDS));
  #isWorking = false;
  #closed: ApiError | null = null;

  constructor(options: SharedThreadOptions) {
    this.#options = options;
    this.#thread = new ModelThread(options);
  }

  /** What the thread said when it had loaded; null while it has not. */
  get loaded(): Loaded | null {
    return this.#thread.loaded;
  }

  /** Whether the model is loaded and takes calls. */
  get isReady(): boolean {
    return this.loaded !== null && this.#closed === null;
  }

  /**
   * What comes of the call of an organization. Throws 503 `engine_unavailable` where too many wait, where the thread ends, and when it is
   * closed; and the signal's reason.
   */
  async run<Outcome>(
    call: PortionedCall<Portion, Result, Outcome>,
    scope: string,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    const end = (reason: unknown) => {
      this.#waiting.delete(waiting);
      reject(reason);
    };
    const { maxCalls, maxCharacters } = this.#options;
    const ticket = this.#admission.enter({
      scope,
      get share() {
        return Math.max(1 / maxCalls, call.characters / maxCharacters);
      },
      evict: end,
    });
    const waiting: Waiting<Portion, Result> = {
      portion: () => {
        ticket.markStarted();
        return call.portion();
      },
      take: (result) => {
        const outcome = call.take(result);
        if (outcome !== null) resolve(outcome);
        return outcome !== null;
      },
      fail: reject,
    };
    const leave = () => end(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.add(waiting);
    void this.#work();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
      ticket.leave();
    }
  }

  /** Resolves when the model is loaded; throws why it cannot be, or the signal's reason. */
  async load(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    await this.#thread.load(signal);
  }

  /** Ends the thread; whoever waits, and whoever comes later, is told that the service is shutting down. May be called twice. */
  async close(): Promise<void> {
    this.#closed ??= engineUnavailable('The service is shutting down.', 1);
    for (const waiting of this.#waiting) waiting.fail(this.#closed);
    this.#waiting.clear();
    await this.#thread.close(this.#closed);
  }

  /** Portions until nothing waits: the only place where the thread gets work. Whoever has had a turn goes behind the others. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let next = first(this.#waiting); next && !this.#closed; next = first(this.#waiting)) {
      try {
        const result = await this.#thread.run(next.portion());
        // Nobody wants the rest of a call whose caller has left.
        const isWanted = this.#waiting.delete(next);
        if (isWanted && !next.take(result)) this.#waiting.add(next);
      } catch (error) {
        this.#waiting.delete(next);
        next.fail(this.#closed ?? engineUnavailable(`The ${this.#options.name} model failed to answer.`, 1, error));
      }
    }
    this.#isWorking = false;
  }
}

function first<T>(waiting: ReadonlySet<T>): T | undefined {
  const [one] = waiting;
  return one;
}
