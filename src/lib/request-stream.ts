/** Events between two `consumed` messages: far fewer than the window of any sender. */
const REPORT_EVENTS = 64;

/** What a stream needs of its sender. */
export interface RequestSource {
  /** Sends the request; called by the first read. Throws when it cannot start. */
  start(): void;
  /** The caller has read that many more events. */
  consumed(events: number): void;
  /** The caller disconnected. Called at most once, and only after `start`. */
  cancel(): void;
}

type Result<Event> = IteratorResult<Event, void>;

/**
 * The events of one request. Not an async generator function, whose `return()` would wait for the event that is being
 * awaited. The window of the sender bounds the buffer.
 */
export class RequestStream<Event> implements AsyncGenerator<Event, void, undefined> {
  readonly #source: RequestSource;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#cancel(() => this.fail(this.#signal.reason, true));
  #state: 'new' | 'running' | 'over' = 'new';
  #events: Event[] = [];
  #unreported = 0;
  #failure: { error: unknown } | null = null;
  #readers: { resolve(result: Result<Event>): void; reject(error: unknown): void }[] = [];

  constructor(source: RequestSource, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
  }

  /** Adds events. */
  push(events: readonly Event[]): void {
    if (this.#state !== 'running') return;
    this.#events.push(...events);
    this.#serve();
  }

  /** No more events follow. */
  finish(): void {
    this.#close();
    this.#serve();
  }

  /** The request failed. Buffered events are delivered first, unless `discardEvents`. */
  fail(error: unknown, discardEvents = false): void {
    if (discardEvents) this.#events = [];
    this.#failure ??= { error };
    this.#close();
    this.#serve();
  }

  next(): Promise<Result<Event>> {
    if (this.#state === 'new') this.#start();
    const { promise, resolve, reject } = Promise.withResolvers<Result<Event>>();
    this.#readers.push({ resolve, reject });
    this.#serve();
    return promise;
  }

  async return(): Promise<Result<Event>> {
    this.#cancel(() => {
      this.#events = [];
      this.#failure = null;
      this.#close();
      this.#serve();
    });
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<Result<Event>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #start(): void {
    this.#state = 'running';
    try {
      this.#signal.throwIfAborted();
      this.#source.start();
      this.#signal.addEventListener('abort', this.#onAbort, { once: true });
    } catch (error) {
      this.fail(error);
    }
  }

  #cancel(end: () => void): void {
    const wasRunning = this.#state === 'running';
    end();
    if (wasRunning) this.#source.cancel();
  }

  #close(): void {
    this.#state = 'over';
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  #serve(): void {
    while (this.#readers.length > 0) {
      const event = this.#events.shift();
      if (event !== undefined) {
        this.#readers.shift()?.resolve({ done: false, value: event });
        this.#report();
      } else if (this.#state !== 'over') return;
      else if (this.#failure !== null) {
        const { error } = this.#failure;
        this.#failure = null;
        this.#readers.shift()?.reject(error);
      } else this.#readers.shift()?.resolve({ done: true, value: undefined });
    }
  }

  #report(): void {
    this.#unreported += 1;
    if (this.#unreported < REPORT_EVENTS || this.#state !== 'running') return;
    this.#source.consumed(this.#unreported);
    this.#unreported = 0;
  }
}
