/** Tracks promises that a shutdown must wait for. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  /** Number of promises that have not settled. */
  get count(): number {
    return this.#running.size;
  }

  /** Whether `close` was called. Resources may be closed, so no work may start. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Tracks `work` until it settles. Does not handle its result or error. */
  add(work: Promise<unknown>): void {
    const end = () => this.#running.delete(work);
    this.#running.add(work);
    work.then(end, end);
  }

  /** Resolves when nothing is in flight, including work that starts while waiting. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running);
      // Follow-up work, such as the onSend hooks of a reply, starts within one event-loop turn.
      await new Promise(setImmediate);
    }
  }

  /** Marks the tracker closed. Callers check `isClosed` before they start work. */
  close(): void {
    this.#isClosed = true;
  }
}
