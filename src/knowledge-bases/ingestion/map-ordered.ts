/** How far ahead is worked. */
export interface PrefetchLimits<T> {
  /** Pieces of work under way. */
  forEachConcurrent: number;
  /** What one weighs, in a unit of the caller's, and how much of it may be under way when another begins. */
  weightOf(one: T): number;
  maxWeight: number;
}

/**
 * What the work on each comes to, in the order of the source. The next ones are asked for and begun while the first is worked on. Throws
 * what the source or the work throws, in that order too, when all that is under way has ended.
 */
export async function* mapOrdered<T, R>(
  source: AsyncIterable<T>,
  work: (one: T) => Promise<R>,
  { forEachConcurrent, weightOf, maxWeight }: PrefetchLimits<T>,
): AsyncGenerator<R> {
  const underWay: { result: Promise<R>; weight: number }[] = [];
  const first = async () => {
    const result = await underWay[0]?.result;
    underWay.shift();
    return result as R;
  };
  const weight = () => underWay.reduce((sum, one) => sum + one.weight, 0);
  const isFull = () => underWay.length >= forEachConcurrent || (underWay.length > 0 && weight() >= maxWeight);
  try {
    for await (const one of source) {
      const result = work(one);
      // Who waits for those before it looks at it later.
      result.catch(() => {});
      underWay.push({ result, weight: weightOf(one) });
      while (isFull()) yield await first();
    }
    while (underWay.length > 0) yield await first();
  } finally {
    await Promise.allSettled(underWay.map(({ result }) => result));
  }
}
