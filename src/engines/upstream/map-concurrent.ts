/** Concurrent requests per call; the server has other callers too. */
const MAX_CONCURRENT_REQUESTS = 4;

/**
 * Maps items concurrently and returns the results in order. The first error aborts the other tasks by their signal and
 * is thrown.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  signal: AbortSignal,
  task: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const place = next++;
      either.throwIfAborted();
      results[place] = await task(items[place] as T, either);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_REQUESTS, items.length) }, worker));
  } catch (error) {
    failed.abort(error);
    throw error;
  }
  return results;
}
