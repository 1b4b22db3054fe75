import { Worker } from 'node:worker_threads';

/** What a thread says: that it has loaded its model, and then what came of each piece of work. */
export type ThreadMessage<Loaded, Result> = { type: 'loaded'; loaded: Loaded } | { type: 'done'; result: Result };

/** A thread that a model lives in. */
export interface ModelThreadOptions {
  /** What the system shows of it (`top -H`): 15 characters at most. */
  name: string;
  /** The thread's code: it says `loaded` once, takes work as messages, and answers each with `done`. */
  script: URL;
  /** What the code gets as `workerData`, asked for at each start. */
  data: () => unknown;
  /** Milliseconds that a piece of work may take, loading included: a thread that needs longer hangs. */
  limitMs: number;
}

/**
 * A thread that does one piece of work at a time. It is started with the first work or `load`, and again after it has
 * ended for whatever reason. It holds the process only while it works.
 */
export class ModelThread<Work, Result, Loaded> {
  readonly #options: ModelThreadOptions;
  #thread: Worker | null = null;
  #loaded: Loaded | null = null;
  #loading = Promise.withResolvers<Loaded>();
  #working: PromiseWithResolvers<Result> | null = null;
  #limit: NodeJS.Timeout | undefined;
  #closed: Error | null = null;

  constructor(options: ModelThreadOptions) {
    this.#options = options;
    this.#loading.promise.catch(() => {});
  }

  /** What the thread said when it had loaded; null while it has not. */
  get loaded(): Loaded | null {
    return this.#loaded;
  }

  /** Resolves when the model is loaded; throws why it cannot be, or the signal's reason. */
  async load(signal: AbortSignal): Promise<Loaded> {
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      this.#started();
      return await Promise.race([this.#loading.promise, promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Has the work done; throws when the thread ends before. The caller waits before it gives more. */
  run(work: Work): Promise<Result> {
    if (this.#working !== null) throw new Error('the thread is at work');
    const thread = this.#started();
    const working = Promise.withResolvers<Result>();
    this.#working = working;
    this.#limit = setTimeout(
      () => this.#ended(thread, new Error('the thread did not answer in time')),
      this.#options.limitMs,
    );
    thread.ref();
    thread.postMessage(work);
    return working.promise;
  }

  /** Ends the thread; work that is under way and all later work throws `reason`. May be called twice. */
  async close(reason: Error): Promise<void> {
    this.#closed ??= reason;
    const thread = this.#thread;
    this.#ended(thread, this.#closed);
    await thread?.terminate();
  }

  #started(): Worker {
    if (this.#closed !== null) throw this.#closed;
    if (this.#thread !== null) return this.#thread;
    const thread = new Worker(this.#options.script, { name: this.#options.name, workerData: this.#options.data() });
    thread.on('message', (message: ThreadMessage<Loaded, Result>) => {
      if (thread === this.#thread) this.#take(thread, message);
    });
    thread.on('error', (error) => this.#ended(thread, error));
    thread.on('exit', () => this.#ended(thread, new Error('the thread ended')));
    this.#thread = thread;
    return thread;
  }

  #take(thread: Worker, message: ThreadMessage<Loaded, Result>): void {
    if (message.type === 'loaded') {
      this.#loaded = message.loaded;
      if (this.#working === null) thread.unref();
      this.#loading.resolve(message.loaded);
      return;
    }
    clearTimeout(this.#limit);
    const working = this.#working;
    this.#working = null;
    thread.unref();
    working?.resolve(message.result);
  }

  /** The thread is gone, or to go: whoever waits for it fails, and the next work starts another. */
  #ended(thread: Worker | null, error: unknown): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    this.#loaded = null;
    clearTimeout(this.#limit);
    this.#loading.reject(error);
    this.#loading = Promise.withResolvers();
    this.#loading.promise.catch(() => {});
    const working = this.#working;
    this.#working = null;
    working?.reject(error);
    void thread?.terminate();
  }
}
