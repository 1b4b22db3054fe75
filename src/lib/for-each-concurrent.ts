/**
 * Runs `work` for each item with at most `limit` in parallel. Starts no further item after an abort or an error. An
 * error aborts the signals of the running items; it is thrown when they have ended.
 */
export async function forEachConcurrent<T>(
  items: Iterable<T>,
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failed = new AbortController();
  const ended = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const run = async () => {
    while (!ended.aborted) {
      const next = iterator.next();
      if (next.done) return;
      await work(next.value, ended).catch((error: unknown) => failed.abort(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, run));
  if (failed.signal.aborted) throw failed.signal.reason;
}

/**
 * `forEachConcurrent` that returns the results in the order of the items. Throws the reason of the signal after an
 * abort.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const store = async ([index, item]: [number, T], some: AbortSignal) => {
    results[index] = await work(item, some);
  };
  await forEachConcurrent(items.entries(), limit, store, signal);
  signal.throwIfAborted();
  return results;
}
