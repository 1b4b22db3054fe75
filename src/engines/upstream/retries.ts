import { Exchange, type HttpExchangeRequest } from './http-exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Attempts at one request, the first included: three cover a restart of one replica and a crowded second. */
const MAX_ATTEMPTS = 3;

/** Longest `Retry-After` that is waited for, in seconds; a longer one is passed on to the caller. */
const MAX_WAIT_SECONDS = 5;

/** Bytes that are read of an error's body. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Statuses that another attempt or another replica may not meet. */
const TRANSIENT_STATUSES = new Set([429, 502, 503, 504]);

/** Who is asked, and how patiently. */
export interface RetryContext {
  replicas: Replicas;
  timeouts: UpstreamTimeouts;
}

/** An attempt that came to nothing. `waitSeconds`: the upstream's own wish; null where it has none. */
export interface FailedAttempt {
  error: Error;
  retry: boolean;
  waitSeconds: number | null;
}

/**
 * Makes attempts until one has a result: at another replica and again, as far as that makes sense. Throws the error of the
 * last attempt, or the signal's reason.
 */
export async function withRetries<T>(
  { replicas, timeouts }: RetryContext,
  once: (replica: Replica) => Promise<{ result: T } | FailedAttempt>,
  signal: AbortSignal,
): Promise<T> {
  const tried = new Set<Replica>();
  for (let attempt = 1; ; attempt += 1) {
    const replica = replicas.choose(tried);
    const outcome = await once(replica);
    if ('result' in outcome) return outcome.result;
    tried.add(replica);
    const { retry, error, waitSeconds } = outcome;
    if (!retry || attempt >= MAX_ATTEMPTS || (waitSeconds ?? 0) > MAX_WAIT_SECONDS) throw error;
    const isFresh = tried.size < replicas.all.length;
    if (!isFresh) await pause(waitSeconds ?? backoffSeconds(attempt, timeouts), signal);
  }
}

/** Sends a request to the replica, and counts it there until its exchange has ended. */
export function send(replica: Replica, request: Omit<HttpExchangeRequest, 'origin'>, signal: AbortSignal): Exchange {
  replica.inFlight += 1;
  return new Exchange(replica.dispatcher, { ...request, origin: replica.endpoints.origin }, signal, () => {
    replica.inFlight -= 1;
  });
}

/** Whether an attempt that was refused with the status is worth another. Tells the replicas where it is the replica's fault. */
export function isTransient(status: number, replica: Replica, replicas: Replicas): boolean {
  const isPassing = TRANSIENT_STATUSES.has(status);
  // Too many requests is no fault of the replica; one that is behind a proxy and gone is.
  if (isPassing && status !== 429) replicas.failed(replica, `status ${status}`);
  return isPassing;
}

/** Where an endpoint is, for the operator's log: the query may hold a key. */
export function redactedUrl(replica: Replica, path: string): string {
  return replica.endpoints.origin + path.split('?', 1)[0];
}

/** How long to wait before the attempt after this one, where the upstream does not say. */
function backoffSeconds(attempt: number, { retrySeconds }: UpstreamTimeouts): number {
  return retrySeconds * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}

/** Waits, or throws the signal's reason. */
async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener('abort', () => resolve(), { once: true });
  try {
    await promise;
    signal.throwIfAborted();
  } finally {
    clearTimeout(timer);
  }
}
