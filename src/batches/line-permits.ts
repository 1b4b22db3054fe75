import { FairQueue } from '../lib/fair-queue.ts';
import { FairSemaphore } from '../lib/fair-semaphore.ts';

/** Bytes of requests and responses of the running lines of this process. A heavier line runs alone. */
const MAX_WEIGHT = 64 * 1024 * 1024;
/** Bytes at which an organization starts no further line, so that lines of others fit beside its own. */
const FULL_SHARE = MAX_WEIGHT / 2;

interface Waiter {
  group: string;
  weight: number;
  enter: () => void;
}

/**
 * Bounds the lines that run concurrently in this process, in number and in memory. Shares both among organizations: an eighth of the permits
 * is left to others, and the next line is one of the organization with the fewest permits, or the least memory.
 */
export class LinePermits {
  readonly total: number;
  readonly #semaphore: FairSemaphore;
  /** Bytes of the running lines, of all and of each organization. */
  #weight = 0;
  readonly #weights = new Map<string, number>();
  readonly #waiters = new FairQueue<Waiter>();

  constructor(total: number) {
    this.total = total;
    this.#semaphore = new FairSemaphore({ total, perGroup: total - Math.floor(total / 8) });
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  within<T>(group: string, weight: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#semaphore.within(group, signal, async () => {
      await this.#enter(group, weight);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        this.#add(group, -weight);
        this.#admit();
      }
    });
  }

  async #enter(group: string, weight: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add(group, { group, weight, enter: resolve });
    this.#admit();
    await promise;
  }

  /** A heavy line that is the next one is not overtaken. */
  #admit(): void {
    const rank = (group: string) => {
      const weight = this.#weights.get(group) ?? 0;
      return weight < FULL_SHARE ? weight : null;
    };
    for (let next = this.#waiters.peek(rank); next !== undefined; next = this.#waiters.peek(rank)) {
      if (this.#weight > 0 && this.#weight + next.weight > MAX_WEIGHT) return;
      this.#waiters.take(rank);
      this.#add(next.group, next.weight);
      next.enter();
    }
  }

  #add(group: string, weight: number): void {
    const total = (this.#weights.get(group) ?? 0) + weight;
    if (total > 0) this.#weights.set(group, total);
    else this.#weights.delete(group);
    this.#weight += weight;
  }
}
