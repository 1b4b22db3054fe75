/**
 * Like `Promise.all`, but rejects only after all promises have settled, so that nothing is still running afterwards.
 */
export async function settleAll<T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
