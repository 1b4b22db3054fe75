import type { GenerationEvent } from '../engine.ts';

/** The reason with which a call ends whose caller has left through `return()`. */
export const CALLER_LEFT: unique symbol = Symbol('the caller has left');

/**
 * The iterator of one call. A generator alone would hold a `return()` back until the `next()` that is under way has
 * its event, which an upstream may take minutes over; this one ends the call at once.
 */
export class GenerationIterator implements AsyncGenerator<GenerationEvent, void, undefined> {
  readonly #controller = new AbortController();
  readonly #events: AsyncGenerator<GenerationEvent, void, undefined>;

  /** `start` is given the controller that ends the call; with the reason `LEFT` its generator is to end quietly. */
  constructor(start: (controller: AbortController) => AsyncGenerator<GenerationEvent, void, undefined>) {
    this.#events = start(this.#controller);
  }

  next(): Promise<IteratorResult<GenerationEvent, void>> {
    return this.#events.next();
  }

  return(): Promise<IteratorResult<GenerationEvent, void>> {
    this.#controller.abort(CALLER_LEFT);
    return this.#events.return();
  }

  throw(error: unknown): Promise<IteratorResult<GenerationEvent, void>> {
    this.#controller.abort(CALLER_LEFT);
    return this.#events.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
