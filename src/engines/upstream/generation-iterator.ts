import type { GenerationEvent } from '../engine.ts';

/** Abort reason of a call that the caller ended with `return()`. */
export const CALLER_LEFT: unique symbol = Symbol('the caller has left');

/**
 * Iterator of one call. The `return()` of a generator alone waits for the pending `next()`, which may take minutes;
 * this one ends the call immediately.
 */
export class GenerationIterator implements AsyncGenerator<GenerationEvent, void, undefined> {
  readonly #controller = new AbortController();
  readonly #events: AsyncGenerator<GenerationEvent, void, undefined>;

  /**
   * `start` receives the controller that ends the call. Its generator ends without an error when the reason is
   * `CALLER_LEFT`.
   */
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
