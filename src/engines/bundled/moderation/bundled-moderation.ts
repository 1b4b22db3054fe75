import { Worker } from 'node:worker_threads';
import { type ApiError, engineUnavailable } from '../../../errors.ts';
import type { Backend } from '../../engine.ts';
import {
  MODERATION_CATEGORIES,
  type Moderation,
  type ModerationEngine,
  type ModerationScores,
} from '../../moderation-engine.ts';
import { Judging, named } from './judging.ts';
import type { ThreadMessage } from './thread.ts';

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

/** What the thread has said of the model. */
interface Loaded {
  places: ModerationScores;
  parameters: number;
}

class BundledModeration implements ModerationEngine {
  readonly #options: BundledModerationOptions;
  #thread: Worker | null = null;
  #loaded: Loaded | null = null;
  /** Those that wait for the thread to have loaded. */
  #loading = Promise.withResolvers<void>();
  /** The call whose portion the thread has; null while it has none, or one that nobody waits for. */
  #running: Judging | null = null;
  #portion = 0;
  #isBusy = false;
  #limit: NodeJS.Timeout | null = null;
  /** In the order in which they get the thread. */
  readonly #waiting = new Set<Judging>();
  #closed: ApiError | null = null;

  constructor(options: BundledModerationOptions) {
    this.#options = options;
    this.#loading.promise.catch(() => {});
  }

  backend(): Backend {
    const parameters = this.#loaded?.parameters ?? null;
    const ready = this.#loaded !== null && this.#closed === null;
    return { engine: 'bundled', model: this.#options.name, parameters, ready };
  }

  async moderate(texts: readonly string[], signal: AbortSignal): Promise<Moderation> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    this.#refuseTooMany();
    const judging = new Judging(texts);
    const leave = () => {
      this.#drop(judging);
      judging.fail(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.add(judging);
    this.#next();
    try {
      return await judging.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#closed) throw this.#closed;
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      this.#started();
      await Promise.race([this.#loading.promise, promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async close(): Promise<void> {
    const reason = engineUnavailable('The service is shutting down.', 1);
    this.#closed ??= reason;
    const thread = this.#thread;
    this.#ended(thread, reason);
    for (const judging of this.#waiting) judging.fail(reason);
    this.#waiting.clear();
    await thread?.terminate();
  }

  #refuseTooMany(): void {
    let characters = 0;
    for (const waiting of this.#waiting) characters += waiting.characters;
    const isFull = this.#waiting.size >= (this.#options.maxWaitingCalls ?? MAX_WAITING_CALLS);
    if (!isFull && characters < MAX_WAITING_CHARACTERS) return;
    throw engineUnavailable('The moderation model has too much to do.', 1);
  }

  /** Nobody waits for it any more. The thread finishes the portion that it has. */
  #drop(judging: Judging): void {
    this.#waiting.delete(judging);
    if (this.#running === judging) this.#running = null;
  }

  /** Gives the thread the next portion, if it is free: of the call that has waited longest for its turn. */
  #next(): void {
    if (this.#isBusy || this.#closed) return;
    const [judging] = this.#waiting;
    if (judging === undefined) {
      this.#thread?.unref();
      return;
    }
    const thread = this.#started();
    this.#waiting.delete(judging);
    this.#running = judging;
    this.#isBusy = true;
    this.#limit = setTimeout(
      () => this.#ended(thread, new Error('The thread did not answer in time.')),
      PORTION_LIMIT_MS,
    );
    thread.ref();
    thread.postMessage({ id: ++this.#portion, texts: judging.portion() });
  }

  #take(message: ThreadMessage): void {
    if (message.type === 'loaded') {
      this.#load(message);
      return;
    }
    if (message.id !== this.#portion || this.#loaded === null) return;
    this.#free();
    const judging = this.#running;
    this.#running = null;
    judging?.take(message.scores, message.tokens);
    if (judging?.isHandedOut) judging.finish(this.#loaded.places);
    else if (judging) this.#waiting.add(judging);
    this.#next();
  }

  #load({ categories, parameters }: Extract<ThreadMessage, { type: 'loaded' }>): void {
    const missing = MODERATION_CATEGORIES.filter((category) => !categories.includes(category));
    if (missing.length > 0) {
      this.#ended(this.#thread, new Error(`The moderation model does not judge ${missing.join(', ')}.`));
      return;
    }
    this.#loaded = { places: named((category) => categories.indexOf(category)), parameters };
    if (!this.#isBusy) this.#thread?.unref();
    this.#loading.resolve();
  }

  #free(): void {
    this.#isBusy = false;
    if (this.#limit !== null) clearTimeout(this.#limit);
    this.#limit = null;
  }

  #started(): Worker {
    if (this.#thread !== null) return this.#thread;
    const options = { name: 'moderation', workerData: { file: this.#options.file } };
    const thread = new Worker(new URL('./thread.ts', import.meta.url), options);
    thread.on('message', (message: ThreadMessage) => {
      if (thread === this.#thread) this.#take(message);
    });
    thread.on('error', (error) => this.#ended(thread, error));
    thread.on('exit', () => this.#ended(thread, new Error('The thread ended.')));
    this.#thread = thread;
    return thread;
  }

  /** The thread is gone, or to go: whoever had it fails, and the next call starts another. */
  #ended(thread: Worker | null, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    this.#loaded = null;
    this.#loading.reject(error);
    this.#loading = Promise.withResolvers();
    this.#loading.promise.catch(() => {});
    this.#free();
    const judging = this.#running;
    this.#running = null;
    judging?.fail(this.#closed ?? engineUnavailable('The moderation model failed to answer.', 1, error));
    void thread?.terminate();
    this.#next();
  }
}
