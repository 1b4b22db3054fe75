/**
 * As `Promise.all`, but rejects with the first error only when all have settled: nothing that the caller started still
 * runs afterwards.
 */
export async function settleAll<T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
