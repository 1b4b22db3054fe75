/** A running part and how it is stopped. */
interface Running<Part> {
  part: Part;
  stop: () => Promise<void>;
}

/**
 * What a process has started. It stops in a declared order, whatever the order of the start was, so that parts can start
 * concurrently. When a start fails, `stop()` stops what had started before, so a failed start leaves nothing behind.
 */
export class Lifecycle<Part extends string> {
  readonly #order: readonly Part[];
  readonly #running: Running<Part>[] = [];
  #stopping: Promise<void> | null = null;

  /** `order` lists the parts in the order of their stop. Of several with one name, the last started stops first. */
  constructor(order: readonly Part[]) {
    this.#order = order;
  }

  /** Starts a part and remembers how to stop it. */
  async start<T>(part: Part, start: () => T | Promise<T>, stop: (started: T) => void | Promise<void>): Promise<T> {
    const started = await start();
    this.#running.push({ part, stop: async () => stop(started) });
    return started;
  }

  /** Stops everything, once. A part that fails to stop is passed to `failed` and the others still stop. */
  stop(failed: (part: Part, error: unknown) => void): Promise<void> {
    this.#stopping ??= this.#stopAll(failed);
    return this.#stopping;
  }

  async #stopAll(failed: (part: Part, error: unknown) => void): Promise<void> {
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      try {
        await next.stop();
      } catch (error) {
        failed(next.part, error);
      }
    }
  }

  #takeNext(): Running<Part> | undefined {
    for (const part of this.#order) {
      const at = this.#running.findLastIndex((running) => running.part === part);
      if (at !== -1) return this.#running.splice(at, 1)[0];
    }
    return undefined;
  }
}
