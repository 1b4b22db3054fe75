/** Limits of a `FairSemaphore`. */
export interface SemaphoreLimits {
  total: number;
  /** Per group; less than `total`, so that one group cannot hold every permit. */
  perGroup: number;
}

interface Waiter {
  group: string;
  enter: () => void;
}

/**
 * A semaphore that shares its permits among groups: the next permit goes to the waiting group with the fewest permits, first come
 * first served within a group.
 */
export class FairSemaphore {
  readonly #limits: SemaphoreLimits;
  readonly #permits = new Map<string, number>();
  #waiters: Waiter[] = [];

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  async within<T>(group: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#acquire(group, signal);
    try {
      return await work();
    } finally {
      const remaining = this.#permitsOf(group) - 1;
      if (remaining === 0) this.#permits.delete(group);
      else this.#permits.set(group, remaining);
      this.#grant();
    }
  }

  async #acquire(group: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiter = { group, enter: resolve };
    const onAbort = () => {
      this.#waiters = this.#waiters.filter((other) => other !== waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiters.push(waiting);
    this.#grant();
    await promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  #grant(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const waiter = next;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      this.#permits.set(waiter.group, this.#permitsOf(waiter.group) + 1);
      waiter.enter();
    }
  }

  /** The waiter that gets the next permit; undefined if none is free. */
  #next(): Waiter | undefined {
    const held = [...this.#permits.values()].reduce((sum, count) => sum + count, 0);
    if (held >= this.#limits.total) return undefined;
    const allowed = this.#waiters.filter(({ group }) => this.#permitsOf(group) < this.#limits.perGroup);
    const fewest = Math.min(...allowed.map(({ group }) => this.#permitsOf(group)));
    return allowed.find(({ group }) => this.#permitsOf(group) === fewest);
  }

  #permitsOf(group: string): number {
    return this.#permits.get(group) ?? 0;
  }
}
