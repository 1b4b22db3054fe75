/** A running component and its stop function. */
interface Running<Part> {
  part: Part;
  stop: () => Promise<void>;
}

/**
 * The started components of a process. They stop in a declared order, independent of the order of start, so that
 * components can start concurrently. After a failed start, `stop()` stops the components that had started.
 */
export class Lifecycle<Part extends string> {
  readonly #order: readonly Part[];
  readonly #starting: (part: Part) => void;
  readonly #running: Running<Part>[] = [];
  #stopping: Promise<void> | null = null;

  /**
   * `order` lists the components in stop order. Components of the same name stop in reverse order of start. `starting`
   * is called before each start.
   */
  constructor(order: readonly Part[], starting: (part: Part) => void = () => {}) {
    this.#order = order;
    this.#starting = starting;
  }

  /** Starts a component and registers its stop function. */
  async start<T>(part: Part, start: () => T | Promise<T>, stop: (started: T) => void | Promise<void>): Promise<T> {
    this.#starting(part);
    const started = await start();
    this.#running.push({ part, stop: async () => stop(started) });
    return started;
  }

  /** Stops all components, once. A failure is passed to `failed` and does not prevent the others from stopping. */
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
