import { FairSemaphore } from '../lib/fair-semaphore.ts';

/** Bytes of requests and responses of the running lines of this process. A heavier line runs alone. */
const MAX_WEIGHT = 64 * 1024 * 1024;

interface Waiter {
  weight: number;
  enter: () => void;
}

/** Bounds the lines that run concurrently in this process, in number and in memory. Shares the permits among organizations. */
export class LinePermits {
  readonly total: number;
  readonly #semaphore: FairSemaphore;
  #weight = 0;
  #waiters: Waiter[] = [];

  constructor(total: number) {
    this.total = total;
    this.#semaphore = new FairSemaphore({ total, perGroup: total });
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  within<T>(group: string, weight: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#semaphore.within(group, signal, async () => {
      await this.#enter(weight);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        this.#weight -= weight;
        this.#admit();
      }
    });
  }

  async #enter(weight: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ weight, enter: resolve });
    this.#admit();
    await promise;
  }

  /** First come, first served, so that a heavy line is not overtaken for ever. */
  #admit(): void {
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      if (this.#weight > 0 && this.#weight + next.weight > MAX_WEIGHT) return;
      this.#weight += next.weight;
      this.#waiters.shift();
      next.enter();
    }
  }
}
