/** How many may be inside at once. */
export interface SemaphoreLimits {
  total: number;
  /** Of one group: less than `total`, so that a group that comes later never waits for all of another's to end. */
  perGroup: number;
}

interface Waiting {
  group: string;
  enter: () => void;
}

/**
 * Lets so many in at once, and shares the room out among groups: of those that wait, the one of the group with the fewest inside is next,
 * and of one group the one that came first.
 */
export class FairSemaphore {
  readonly #bounds: SemaphoreLimits;
  readonly #inside = new Map<string, number>();
  #waiting: Waiting[] = [];

  constructor(bounds: SemaphoreLimits) {
    this.#bounds = bounds;
  }

  /** Runs `work` once there is room. Throws the signal's reason where it aborts before; what runs is not its concern. */
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

  /** Whose turn it is; undefined while there is no room for anybody. */
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
