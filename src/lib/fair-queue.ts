/** Rank of a group: the lowest goes first. Null: the group has to wait. */
export type GroupRank = (group: string) => number | null;

/**
 * A queue shared by groups, such as organizations. Groups take turns (round robin), so a group waits for one item of
 * every other group, however many they have. Items of one group are first come, first served. Unbounded: callers pass
 * an admission first.
 */
export class FairQueue<T> {
  /** Groups with items, in the order of their turns: a map iterates in insertion order. */
  readonly #groups = new Map<string, Set<T>>();
  #size = 0;

  /** Number of items. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item at the end of its group. */
  add(group: string, item: T): void {
    const items = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, items);
    if (items.has(item)) return;
    items.add(item);
    this.#size += 1;
  }

  /** Returns the next item without removing it. `rank` is compared before the order of turns. */
  peek(rank?: GroupRank): T | undefined {
    return this.#next(rank)?.item;
  }

  /** Removes and returns the next item. Its group has its next turn after all groups that wait now. */
  take(rank?: GroupRank): T | undefined {
    const next = this.#next(rank);
    if (next === undefined) return undefined;
    const { group, items, item } = next;
    items.delete(item);
    this.#size -= 1;
    this.#groups.delete(group);
    if (items.size > 0) this.#groups.set(group, items);
    return item;
  }

  /** Removes an item. Returns whether it was queued. */
  delete(group: string, item: T): boolean {
    const items = this.#groups.get(group);
    if (items === undefined || !items.delete(item)) return false;
    this.#size -= 1;
    if (items.size === 0) this.#groups.delete(group);
    return true;
  }

  /** Removes and returns all items. */
  clear(): T[] {
    const all = [...this.#groups.values()].flatMap((items) => [...items]);
    this.#groups.clear();
    this.#size = 0;
    return all;
  }

  #next(rank: GroupRank = () => 0): { group: string; items: Set<T>; item: T } | undefined {
    let first: { group: string; items: Set<T>; rank: number } | undefined;
    for (const [group, items] of this.#groups) {
      const groupRank = rank(group);
      if (groupRank !== null && (first === undefined || groupRank < first.rank))
        first = { group, items, rank: groupRank };
    }
    if (first === undefined) return undefined;
    const [item] = first.items;
    return { group: first.group, items: first.items, item: item as T };
  }
}
