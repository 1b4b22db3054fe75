import { FairQueue } from './fair-queue.ts';

/** Limits of a `FairSemaphore`. */
export interface SemaphoreLimits {
  total: number;
  /** Per group; less than `total`, so that one group cannot hold every permit. */
  perGroup: number;
  /** Total weight of the permits, in any unit; a heavier permit is granted alone. Default: no limit. */
  maxWeight?: number;
  /** Weight at which a group gets no further permit, so that permits of other groups fit beside its own. */
  maxGroupWeight?: number;
}

/** What a group, or all of them, hold. */
interface Holding {
  permits: number;
  weight: number;
}

interface Waiter {
  group: string;
  weight: number;
  enter: (release: () => void) => void;
}

/**
 * A semaphore that shares its permits among groups: the next permit goes to the waiting group with the smallest share
 * of the permits or the weight, whichever of both is larger; among equals in turn. A heavy waiter that is the next one
 * is not overtaken.
 */
export class FairSemaphore {
  readonly #limits: Required<SemaphoreLimits>;
  readonly #held: Holding = { permits: 0, weight: 0 };
  readonly #holdings = new Map<string, Holding>();
  readonly #waiters = new FairQueue<Waiter>();

  constructor(limits: SemaphoreLimits) {
    const unlimited = Number.POSITIVE_INFINITY;
    this.#limits = { maxWeight: unlimited, maxGroupWeight: unlimited, ...limits };
  }

  /** Maximum number of permits. */
  get total(): number {
    return this.#limits.total;
  }

  /** Runs `work` with a permit. Throws the signal's reason if aborted while waiting; does not abort running work. */
  async within<T>(group: string, signal: AbortSignal, work: () => Promise<T>, weight = 0): Promise<T> {
    const release = await this.acquire(group, signal, weight);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Takes a permit that is free now, and returns the function that returns it; null where the group has to wait. */
  tryAcquire(group: string): (() => void) | null {
    return this.#held.permits < this.#limits.total && this.#rank(group) !== null ? this.#take(group, 0) : null;
  }

  /**
   * Waits for a permit, and returns the function that returns it. Throws the signal's reason if aborted while waiting.
   */
  async acquire(group: string, signal: AbortSignal, weight = 0): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter = { group, weight, enter: resolve };
    const onAbort = () => {
      this.#waiters.delete(group, waiter);
      reject(signal.reason);
      // A heavy waiter may have kept others waiting.
      this.#grant();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiters.add(group, waiter);
    this.#grant();
    return promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  #grant(): void {
    const { total, maxWeight } = this.#limits;
    const rank = (group: string) => this.#rank(group);
    while (this.#held.permits < total) {
      const next = this.#waiters.peek(rank);
      if (next === undefined || (this.#held.permits > 0 && this.#held.weight + next.weight > maxWeight)) return;
      this.#waiters.take(rank);
      next.enter(this.#take(next.group, next.weight));
    }
  }

  /** The share of a group; null when it has to wait. */
  #rank(group: string): number | null {
    const holding = this.#holdings.get(group);
    if (holding === undefined) return 0;
    const { total, perGroup, maxWeight, maxGroupWeight } = this.#limits;
    if (holding.permits >= perGroup || holding.weight >= maxGroupWeight) return null;
    return Math.max(holding.permits / total, holding.weight / maxWeight);
  }

  #take(group: string, weight: number): () => void {
    this.#change(group, 1, weight);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#change(group, -1, -weight);
      this.#grant();
    };
  }

  #change(group: string, permits: number, weight: number): void {
    const holding = this.#holdings.get(group) ?? { permits: 0, weight: 0 };
    for (const changed of [holding, this.#held]) {
      changed.permits += permits;
      changed.weight += weight;
    }
    if (holding.permits === 0) this.#holdings.delete(group);
    else this.#holdings.set(group, holding);
  }
}
