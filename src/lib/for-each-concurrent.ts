/**
 * Runs `work` for each item with at most `limit` in parallel. Starts no further item after an abort or an error; waits for running
 * items, then throws the first error.
 */
export async function forEachConcurrent<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const run = async () => {
    while (errors.length === 0 && !signal?.aborted) {
      const next = iterator.next();
      if (next.done) return;
      await work(next.value).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, run));
  if (errors.length > 0) throw errors[0];
}
