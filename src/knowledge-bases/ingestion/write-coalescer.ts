/** Maximum time that an item waits for a group, so that the progress of a job stays visible. */
const MAX_WAIT_MS = 1000;

/** Limits of a group. */
export interface CoalescerLimits<T> {
  /** Weight of an item, in any unit. */
  weight(item: T): number;
  /** Total weight at which a group is written. */
  maxWeight: number;
}

/**
 * Group commit: collects items and writes them together, when a group is full or its first item has waited for a second.
 * Writes run one at a time. After a failed write, nothing more is written.
 */
export class WriteCoalescer<T> {
  readonly #write: (group: T[]) => Promise<void>;
  readonly #limits: CoalescerLimits<T>;
  #pending: T[] = [];
  #weight = 0;
  #timer: NodeJS.Timeout | undefined;
  #writes: Promise<void> = Promise.resolve();

  constructor(write: (group: T[]) => Promise<void>, limits: CoalescerLimits<T>) {
    this.#write = write;
    this.#limits = limits;
  }

  /** Adds an item. Resolves immediately, or when the group is full and written. Throws the error of a failed write. */
  async add(item: T): Promise<void> {
    this.#pending.push(item);
    this.#weight += this.#limits.weight(item);
    // Errors surface in the next add() or flush(); this handler only prevents an unhandledRejection.
    this.#timer ??= setTimeout(() => this.flush().catch(() => {}), MAX_WAIT_MS);
    if (this.#weight >= this.#limits.maxWeight) await this.flush();
  }

  /** Writes all pending items. Throws the error of a failed write. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writes = this.#writes.then(async () => {
      const group = this.#pending;
      this.#pending = [];
      this.#weight = 0;
      if (group.length > 0) await this.#write(group);
    });
    return this.#writes;
  }
}
