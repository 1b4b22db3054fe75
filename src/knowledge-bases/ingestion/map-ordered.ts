/** Limits of `mapOrdered`. */
export interface PrefetchLimits<T> {
  /** Maximum items in progress. */
  concurrency: number;
  /** Weight of an item, in any unit. */
  weight(item: T): number;
  /** Maximum total weight in progress; a single heavier item runs alone. */
  maxWeight: number;
}

/**
 * Maps a source with limited concurrency and prefetch; yields results in source order. Errors of the source or of
 * `work` are thrown in order, after all items in progress have settled.
 */
export async function* mapOrdered<T, R>(
  source: AsyncIterable<T>,
  work: (item: T) => Promise<R>,
  { concurrency, weight, maxWeight }: PrefetchLimits<T>,
): AsyncGenerator<R> {
  const pending: { result: Promise<R>; weight: number }[] = [];
  const first = async () => {
    const result = await pending[0]?.result;
    pending.shift();
    return result as R;
  };
  const totalWeight = () => pending.reduce((sum, each) => sum + each.weight, 0);
  const isFull = () => pending.length >= concurrency || (pending.length > 0 && totalWeight() >= maxWeight);
  try {
    for await (const item of source) {
      const result = work(item);
      // Prevents an unhandledRejection; the error is thrown in order.
      result.catch(() => {});
      pending.push({ result, weight: weight(item) });
      while (isFull()) yield await first();
    }
    while (pending.length > 0) yield await first();
  } finally {
    await Promise.allSettled(pending.map(({ result }) => result));
  }
}
