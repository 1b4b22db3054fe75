/** When a failed call is repeated. */
export interface RetryPolicy {
  /** Milliseconds before each retry. After the last retry, its error is thrown. */
  delaysMs: readonly number[];
  /** Bounds of a random factor of the delays, so that callers do not retry at the same time. */
  jitter?: readonly [min: number, max: number];
  /** Repeats the last delay, and throws the error of an attempt that ends later than this after the first began. */
  budgetMs?: number;
  /** Whether the next attempt may succeed; `retries` counts from 0. Default: after every error. */
  isPassing?(error: unknown, retries: number): boolean;
  /** Whether the failed attempt made progress: the delays then begin again. */
  hasProgressed?(): boolean;
  /** The wait that a service demands with its error, instead of `delayMs`; null: none. */
  retryAfterMs?(error: unknown, delayMs: number): number | null;
  /** The error is thrown when the service demands a longer wait. */
  maxRetryAfterMs?: number;
  /** Called before each wait of `delayMs`; `retries` counts from 0. */
  onRetry?(error: unknown, retries: number, delayMs: number): void;
  /** Ends the retries with its reason. */
  signal?: AbortSignal | undefined;
}

/** Runs a call until it succeeds. Throws the last error if the policy permits no more. `call` gets the retry count. */
export async function retry<T>(call: (retries: number) => Promise<T>, policy: RetryPolicy): Promise<T> {
  const startedAt = performance.now();
  for (let retries = 0; ; retries += 1) {
    try {
      return await call(retries);
    } catch (error) {
      policy.signal?.throwIfAborted();
      if (policy.hasProgressed?.()) retries = 0;
      const delayMs = retryDelay(policy, error, { retries, elapsedMs: performance.now() - startedAt });
      if (delayMs === null) throw error;
      policy.onRetry?.(error, retries, delayMs);
      if (delayMs > 0) await pause(delayMs, policy.signal);
    }
  }
}

/** Milliseconds before the next attempt; null: none. */
function retryDelay(
  policy: RetryPolicy,
  error: unknown,
  { retries, elapsedMs }: { retries: number; elapsedMs: number },
): number | null {
  const { delaysMs, jitter: [min, max] = [1, 1], budgetMs, maxRetryAfterMs = Number.POSITIVE_INFINITY } = policy;
  const isOver = budgetMs === undefined ? retries >= delaysMs.length : elapsedMs > budgetMs;
  if (isOver || policy.isPassing?.(error, retries) === false) return null;
  const delayMs = (delaysMs[retries] ?? delaysMs.at(-1) ?? 0) * (min + Math.random() * (max - min));
  const demandedMs = policy.retryAfterMs?.(error, delayMs) ?? null;
  if (demandedMs === null) return delayMs;
  return demandedMs > maxRetryAfterMs ? null : demandedMs;
}

/** Waits, or throws the reason of the signal. */
export async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const timer = setTimeout(end, delayMs);
  signal?.addEventListener('abort', end, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', end);
  signal?.throwIfAborted();
}
