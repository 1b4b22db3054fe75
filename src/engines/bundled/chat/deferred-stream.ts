import type { GenerationEvent } from '../../engine.ts';

type Events = AsyncGenerator<GenerationEvent, void, undefined>;
type Result = IteratorResult<GenerationEvent, void>;

const OVER: Result = { done: true, value: undefined };

/**
 * The events of a generation that something has to be worked out for before. Written out instead of an async generator
 * function, whose `return()` would wait for the event that is being awaited.
 */
export class DeferredStream implements Events {
  readonly #start: (leaving: AbortSignal) => Promise<Events>;
  readonly #signal: AbortSignal;
  readonly #left = new AbortController();
  #events: Promise<Events> | null = null;

  /**
   * `start` is called with the first read, and given a signal that aborts with the caller's, or when the caller stops
   * reading. `signal` is the one that the events themselves take.
   */
  constructor(start: (leaving: AbortSignal) => Promise<Events>, signal: AbortSignal) {
    this.#start = start;
    this.#signal = signal;
  }

  async next(): Promise<Result> {
    if (this.#left.signal.aborted) return OVER;
    try {
      const events = await this.#started();
      return this.#left.signal.aborted ? OVER : await events.next();
    } catch (error) {
      if (this.#left.signal.aborted && error === this.#left.signal.reason) return OVER;
      this.#left.abort();
      throw error;
    }
  }

  async return(): Promise<Result> {
    this.#left.abort();
    // What failed to start holds nothing; who reads has been told.
    const events = await this.#events?.catch(() => null);
    await events?.return();
    return OVER;
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
    const leaving = AbortSignal.any([this.#signal, this.#left.signal]);
    leaving.throwIfAborted();
    const events = await this.#start(leaving);
    leaving.throwIfAborted();
    return events;
  }
}
