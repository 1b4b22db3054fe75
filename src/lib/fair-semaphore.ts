import { FairQueue } from './fair-queue.ts';

/** Limits of a `FairSemaphore`. */
export interface SemaphoreLimits {
  total: number;
  /** Per group; less than `total`, so that one group cannot hold every permit. */
  perGroup: number;
}

/**
 * A semaphore that shares its permits among groups: the next permit goes to the waiting group with the fewest permits, among equals in
 * turn.
 */
export class FairSemaphore {
  readonly #limits: SemaphoreLimits;
  readonly #permits = new Map<string, number>();
  #held = 0;
  readonly #waiters = new FairQueue<{ group: string; enter: (release: () => void) => void }>();

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  async within<T>(group: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(group, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Takes a permit that is free now, and returns the function that returns it; null where the group has to wait. */
  tryAcquire(group: string): (() => void) | null {
    if (this.#held >= this.#limits.total || this.#permitsOf(group) >= this.#limits.perGroup) return null;
    return this.#take(group);
  }

  /** Waits for a permit, and returns the function that returns it. Throws the signal's reason if aborted while waiting. */
  async acquire(group: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiting = { group, enter: resolve };
    const onAbort = () => {
      this.#waiters.delete(group, waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiters.add(group, waiting);
    this.#grant();
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  #grant(): void {
    const { total, perGroup } = this.#limits;
    const rank = (group: string) => (this.#permitsOf(group) < perGroup ? this.#permitsOf(group) : null);
    while (this.#held < total) {
      const next = this.#waiters.take(rank);
      if (next === undefined) return;
      next.enter(this.#take(next.group));
    }
  }

  #take(group: string): () => void {
    this.#permits.set(group, this.#permitsOf(group) + 1);
    this.#held += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const remaining = this.#permitsOf(group) - 1;
      if (remaining === 0) this.#permits.delete(group);
      else this.#permits.set(group, remaining);
      this.#held -= 1;
      this.#grant();
    };
  }

  #permitsOf(group: string): number {
    return this.#permits.get(group) ?? 0;
  }
}
