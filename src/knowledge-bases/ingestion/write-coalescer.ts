/** Milliseconds that something waits for others to be written with: who watches a job sees it go on. */
const MAX_WAIT_MS = 1000;

/** How much is written in one go. */
export interface CoalescerLimits<T> {
  /** What one of them weighs, in a unit of the caller's. */
  weightOf(one: T): number;
  /** So much waits at the most before it is written. */
  maxWeight: number;
}

/**
 * Collects what is to be written and writes it together: when so much waits, or the first of it has waited for a second. One write at a
 * time; what comes meanwhile waits for the next. After a write has failed nothing more is written.
 */
export class WriteCoalescer<T> {
  readonly #write: (group: T[]) => Promise<void>;
  readonly #limits: CoalescerLimits<T>;
  #waiting: T[] = [];
  #weight = 0;
  #timer: NodeJS.Timeout | undefined;
  #writes: Promise<void> = Promise.resolve();

  constructor(write: (group: T[]) => Promise<void>, limits: CoalescerLimits<T>) {
    this.#write = write;
    this.#limits = limits;
  }

  /** Takes one. Resolves at once while there is room for more, else when it is written. Throws what a write has failed with. */
  async add(one: T): Promise<void> {
    this.#waiting.push(one);
    this.#weight += this.#limits.weightOf(one);
    // What it fails with is thrown by whoever adds or flushes next.
    this.#timer ??= setTimeout(() => this.flush().catch(() => {}), MAX_WAIT_MS);
    if (this.#weight >= this.#limits.maxWeight) await this.flush();
  }

  /** Writes what waits. Resolves when all that was added is written; throws what a write has failed with. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writes = this.#writes.then(async () => {
      const group = this.#waiting;
      this.#waiting = [];
      this.#weight = 0;
      if (group.length > 0) await this.#write(group);
    });
    return this.#writes;
  }
}
