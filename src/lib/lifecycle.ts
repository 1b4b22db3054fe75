/** A thing that runs, with how it is stopped. */
interface Running {
  name: string;
  stop: () => Promise<void>;
}

/**
 * What has been started, in order; it is stopped in the opposite order. When a start fails, what had started before
 * is stopped by `stop()`, so a failed start leaves nothing behind.
 */
export class Lifecycle {
  readonly #running: Running[] = [];
  #stopping: Promise<void> | null = null;

  /** Starts one thing and remembers how to stop it. Stopping may be asked for once only. */
  async start<T>(name: string, start: () => T | Promise<T>, stop: (started: T) => void | Promise<void>): Promise<T> {
    const started = await start();
    this.#running.push({ name, stop: async () => stop(started) });
    return started;
  }

  /** Stops everything, the last started first. One that fails to stop is told to `failed` and the others still stop. */
  stop(failed: (name: string, error: unknown) => void): Promise<void> {
    this.#stopping ??= this.#stopAll(failed);
    return this.#stopping;
  }

  async #stopAll(failed: (name: string, error: unknown) => void): Promise<void> {
    for (let last = this.#running.pop(); last !== undefined; last = this.#running.pop()) {
      try {
        await last.stop();
      } catch (error) {
        failed(last.name, error);
      }
    }
  }
}
