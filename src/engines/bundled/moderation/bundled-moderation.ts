import { type ApiError, engineUnavailable } from '../../../errors.ts';
import type { Backend } from '../../engine.ts';
import type { Moderation, ModerationEngine } from '../../moderation-engine.ts';
import { ModelThread } from '../model-thread.ts';
import { Judging } from './judging.ts';
import type { Judged, LoadedModerator } from './thread.ts';

/** Calls that wait at once; each holds its texts in memory. */
const MAX_WAITING_CALLS = 1024;
/** Characters of waiting calls at once: about ten seconds of work. One call alone may have more. */
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;
/** A portion takes milliseconds, and loading less than a second: a thread that needs longer hangs. */
const PORTION_LIMIT_MS = 20_000;

/** A moderation model in a file of weights; see its card for the format. */
export interface BundledModerationOptions {
  file: string;
  /** The model's name, as the model object shows it. */
  name: string;
  /** Calls that wait at once; 1024 unless given. */
  maxWaitingCalls?: number;
}

/**
 * Judges texts with the model that comes with Quire, in a thread of its own: `moderate` costs this thread next to
 * nothing. Calls take turns, piece by piece, so that a short text does not wait for the end of a long one.
 * A text of more than 32,768 characters is read in overlapping pieces. Nothing is loaded before the first call or `check`.
 */
export function createBundledModeration(options: BundledModerationOptions): ModerationEngine {
  return new BundledModeration(options);
}

class BundledModeration implements ModerationEngine {
  readonly #options: BundledModerationOptions;
  readonly #thread: ModelThread<string[], Judged, LoadedModerator>;
  /** In the order in which they get the thread. */
  readonly #waiting = new Set<Judging>();
  /** The call whose portion the thread has. */
  #running: Judging | null = null;
  #isWorking = false;
  #closed: ApiError | null = null;

  constructor(options: BundledModerationOptions) {
    this.#options = options;
    this.#thread = new ModelThread({
      name: 'moderation',
      script: new URL('./thread.ts', import.meta.url),
      data: () => ({ file: options.file }),
      limitMs: PORTION_LIMIT_MS,
    });
  }

  backend(): Backend {
    const parameters = this.#thread.loaded?.parameters ?? null;
    const ready = parameters !== null && this.#closed === null;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  async moderate(texts: readonly string[], signal: AbortSignal): Promise<Moderation> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    this.#refuseTooMany();
    const judging = new Judging(texts);
    const leave = () => {
      this.#waiting.delete(judging);
      if (this.#running === judging) this.#running = null;
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
    throw engineUnavailable('The moderation model has too much to do.', 1);
  }

  /** Portions until nothing waits: the only place where the thread gets work. Whoever has had a turn goes behind the others. */
  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (let judging = first(this.#waiting); judging && !this.#closed; judging = first(this.#waiting)) {
      this.#waiting.delete(judging);
      this.#running = judging;
      try {
        const judged = await this.#thread.run(judging.portion());
        // Null where its caller has left.
        if (this.#running !== null && !judging.take(judged)) this.#waiting.add(judging);
      } catch (error) {
        judging.fail(this.#closed ?? engineUnavailable('The moderation model failed to answer.', 1, error));
      }
      this.#running = null;
    }
    this.#isWorking = false;
  }
}

function first(waiting: ReadonlySet<Judging>): Judging | undefined {
  const [judging] = waiting;
  return judging;
}
