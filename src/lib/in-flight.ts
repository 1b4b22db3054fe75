/** Work in flight that a shutdown waits for. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  /** Work that has not settled. */
  get count(): number {
    return this.#running.size;
  }

  /** Whether `close` was called: what uses the work's resources may be gone, so none may begin. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Counts `work` until it settles. Its result and its error stay the caller's. */
  add(work: Promise<unknown>): void {
    const end = () => this.#running.delete(work);
    this.#running.add(work);
    work.then(end, end);
  }

  /** Resolves when no work is in flight, that included which begins while this waits. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running);
      // Follow-up work, such as the hooks that send a handler's reply, begins within this turn of the event loop.
      await new Promise(setImmediate);
    }
  }

  /** Says that no more work may begin. Whoever begins work asks `isClosed` first. */
  close(): void {
    this.#isClosed = true;
  }
}
