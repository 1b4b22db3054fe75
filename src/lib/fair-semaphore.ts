/** Limits of a `FairSemaphore`. */
export interface SemaphoreLimits {
  total: number;
  /** Per group; less than `total`, so that one group cannot hold every permit. */
  perGroup: number;
}

interface Waiting {
  group: string;
  enter: () => void;
}

/**
 * A semaphore that shares its permits among groups: the next permit goes to the waiting group with the fewest permits, first come
 * first served within a group.
 */
export class FairSemaphore {
  readonly #bounds: SemaphoreLimits;
  readonly #inside = new Map<string, number>();
  #waiting: Waiting[] = [];

  constructor(bounds: SemaphoreLimits) {
    this.#bounds = bounds;
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  async within<T>(group: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(group, signal);
    try {
      return await work();
    } finally {
      const left = this.#insideOf(group) - 1;
      if (left === 0) this.#inside.delete(group);
      else this.#inside.set(group, left);
      this.#letIn();
    }
  }

  async #enter(group: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { group, enter: resolve };
    const leave = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiting);
    this.#letIn();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #letIn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const entering = next;
      this.#waiting = this.#waiting.filter((other) => other !== entering);
      this.#inside.set(entering.group, this.#insideOf(entering.group) + 1);
      entering.enter();
    }
  }

  /** The waiter that gets the next permit; undefined if none is free. */
  #next(): Waiting | undefined {
    const inside = [...this.#inside.values()].reduce((sum, count) => sum + count, 0);
    if (inside >= this.#bounds.total) return undefined;
    const allowed = this.#waiting.filter(({ group }) => this.#insideOf(group) < this.#bounds.perGroup);
    const fewest = Math.min(...allowed.map(({ group }) => this.#insideOf(group)));
    return allowed.find(({ group }) => this.#insideOf(group) === fewest);
  }

  #insideOf(group: string): number {
    return this.#inside.get(group) ?? 0;
  }
}
