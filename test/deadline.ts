/** Longer than any wait of the fast suite on a busy machine, shorter than the limit of the test runner. */
const DEADLINE_SECONDS = 10;
/** Limit of polling: fails with a reason before the test runner (`run.js`) kills the file. */
const POLL_LIMIT_MS = 60_000;
const PAUSE_MS = 10;

/**
 * Waits for a promise. Throws after `seconds` with a message that names the missing event, instead of hanging until the
 * test runner kills the file.
 */
export async function withDeadline<T>(what: string, promise: Promise<T>, seconds = DEADLINE_SECONDS): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what}: not after ${seconds} s`)), seconds * 1000);
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls a condition until it holds. Throws after `POLL_LIMIT_MS` with the source of the condition. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > POLL_LIMIT_MS) {
      throw new Error(`this condition did not hold within ${POLL_LIMIT_MS / 1000} s: ${isSo}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
