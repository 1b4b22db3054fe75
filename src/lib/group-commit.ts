/** How a `GroupCommit` collects and writes items. */
export interface GroupCommitPolicy<T> {
  /** Writes a group. Runs for one group at a time, in the order of the items. */
  write(items: readonly T[]): Promise<void>;
  /** Weight of an item, in any unit. Default: 1. */
  weight?(item: T): number;
  /** A group of this weight is full: takes no further item, waits for none. The last item may exceed the weight. */
  maxWeight: number;
  /** Maximum time for which the first item of a group waits for others. 0: one event-loop turn. */
  delayMs: number;
  /** Whether nothing is written after a failed write: later items fail with its error. */
  stopsOnFailure: boolean;
  /** Called with items that were not written, before their promise rejects. */
  onFailure?(items: readonly T[], error: unknown): void;
}

interface Group<T> {
  items: T[];
  weight: number;
  /** Full, or its items have waited long enough. Only the last group may be neither. */
  isDue: boolean;
  timer: NodeJS.Timeout | undefined;
  written: PromiseWithResolvers<void>;
}

/** Group commit: collects items while a write is in flight, or for a moment, and writes them together. */
export class GroupCommit<T> {
  readonly #policy: GroupCommitPolicy<T>;
  /** Groups that are not in flight, in order. */
  readonly #groups: Group<T>[] = [];
  /** The write in flight. Does not reject. */
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(policy: GroupCommitPolicy<T>) {
    this.#policy = policy;
  }

  /** Adds an item. Resolves when it is written; throws the error of its write. A group shares the promise. */
  add(item: T): Promise<void> {
    const { weight, maxWeight } = this.#policy;
    const last = this.#groups.at(-1);
    const group = last === undefined || last.weight >= maxWeight ? this.#openGroup() : last;
    group.items.push(item);
    group.weight += weight?.(item) ?? 1;
    if (group.weight >= maxWeight) this.#markDue(group);
    return group.written.promise;
  }

  /**
   * Adds an item without waiting for its write: waits only while a full group waits for the write in flight. With
   * `stopsOnFailure`, throws the error of an earlier write.
   */
  async addWithBackpressure(item: T): Promise<void> {
    void this.add(item);
    while ((this.#groups[0]?.weight ?? 0) >= this.#policy.maxWeight) await this.#writing;
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Writes all items without further delay. With `stopsOnFailure`, throws the error of the failed write. */
  async flush(): Promise<void> {
    for (let last = this.#groups.at(-1); last !== undefined || this.#writing !== null; last = this.#groups.at(-1)) {
      if (last !== undefined) this.#markDue(last);
      await this.#writing;
    }
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Writes nothing more: waiting and later items fail with `reason`. Resolves when the write in flight has ended. */
  async close(reason: unknown): Promise<void> {
    this.#failure ??= { error: reason };
    await this.flush().catch(() => {});
  }

  #openGroup(): Group<T> {
    const { delayMs } = this.#policy;
    const group: Group<T> = { items: [], weight: 0, isDue: false, timer: undefined, written: Promise.withResolvers() };
    // Prevents an unhandledRejection where no caller waits for the write; addWithBackpressure() and flush() throw its
    // error.
    group.written.promise.catch(() => {});
    if (delayMs === 0) setImmediate(() => this.#markDue(group));
    else group.timer = setTimeout(() => this.#markDue(group), delayMs);
    this.#groups.push(group);
    return group;
  }

  #markDue(group: Group<T>): void {
    clearTimeout(group.timer);
    group.isDue = true;
    this.#writeNext();
  }

  #writeNext(): void {
    const [group] = this.#groups;
    if (this.#writing !== null || !group?.isDue) return;
    this.#groups.shift();
    this.#writing = this.#write(group).then(() => {
      this.#writing = null;
      this.#writeNext();
    });
  }

  async #write({ items, written }: Group<T>): Promise<void> {
    try {
      if (this.#failure !== null) throw this.#failure.error;
      await this.#policy.write(items);
      written.resolve();
    } catch (error) {
      if (this.#policy.stopsOnFailure) this.#failure ??= { error };
      this.#policy.onFailure?.(items, error);
      written.reject(error);
    }
  }
}
