/** Longer than any wait of the fast suite on a busy machine, shorter than the limit of the test runner. */
const DEADLINE_SECONDS = 10;

/**
 * Waits for a promise. Throws after `seconds` with a message that names the missing event, instead of hanging until the test
 * runner
 * kills the file.
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
