import type { GenerationEvent } from '../engine.ts';

type Events = AsyncGenerator<GenerationEvent, void, undefined>;
type Result = IteratorResult<GenerationEvent, void>;

const DONE: Result = { done: true, value: undefined };

/**
 * The events of a generation that needs asynchronous preparation. An async generator function would not do: its
 * `return()` waits for the pending event.
 */
export class DeferredStream implements Events {
  readonly #start: (startSignal: AbortSignal) => Promise<Events>;
  readonly #signal: AbortSignal;
  readonly #returned = new AbortController();
  #events: Promise<Events> | null = null;

  /**
   * `start` is called with the first `next()`, with a signal that aborts when `signal` does or when the caller returns.
   */
  constructor(start: (startSignal: AbortSignal) => Promise<Events>, signal: AbortSignal) {
    this.#start = start;
    this.#signal = signal;
  }

  async next(): Promise<Result> {
    if (this.#returned.signal.aborted) return DONE;
    try {
      const events = await this.#started();
      return this.#returned.signal.aborted ? DONE : await events.next();
    } catch (error) {
      if (this.#returned.signal.aborted && error === this.#returned.signal.reason) return DONE;
      this.#returned.abort();
      throw error;
    }
  }

  async return(): Promise<Result> {
    this.#returned.abort();
    // A failed start holds no resources, and `next()` has thrown its error.
    const events = await this.#events?.catch(() => null);
    await events?.return();
    return DONE;
  }

  async throw(error: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #started(): Promise<Events> {
    this.#events ??= this.#begin();
    return this.#events;
  }

  async #begin(): Promise<Events> {
    const startSignal = AbortSignal.any([this.#signal, this.#returned.signal]);
    startSignal.throwIfAborted();
    const events = await this.#start(startSignal);
    startSignal.throwIfAborted();
    return events;
  }
}
