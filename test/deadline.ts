/** Far more than any wait of the fast suite takes on a busy machine, far less than the runner's own limit. */
const DEADLINE_SECONDS = 10;

/**
 * Waits for the promise; throws after `seconds` with a message that names what did not happen. A test that waits for
 * something that a bug keeps from happening then fails with a reason instead of hanging until the runner stops the file.
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
