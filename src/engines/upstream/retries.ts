import { pause } from '../../lib/retry.ts';
import { Exchange, type HttpExchangeRequest } from './http-exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Maximum attempts per request: three cover the restart of one replica and a short overload. */
const MAX_ATTEMPTS = 3;

/** Maximum `Retry-After` to wait for, in seconds; longer ones are passed on to the caller. */
const MAX_WAIT_SECONDS = 5;

/** Maximum bytes of an error body. */
export const MAX_ERROR_BYTES = 64 * 1024;

/** Statuses that are worth another attempt. */
const TRANSIENT_STATUSES = new Set([429, 502, 503, 504]);

/** Replicas and timeouts of a request. */
export interface RetryContext {
  replicas: Replicas;
  timeouts: UpstreamTimeouts;
}

/** A failed attempt. `waitSeconds`: the `Retry-After` of the upstream; null when there is none. */
export interface FailedAttempt {
  error: Error;
  retry: boolean;
  waitSeconds: number | null;
}

/**
 * Runs attempts until one succeeds, preferring replicas that were not tried. Throws the error of the last attempt, or
 * the signal's reason.
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
    if (!isFresh) await pause((waitSeconds ?? backoffSeconds(attempt, timeouts)) * 1000, signal);
  }
}

/** Sends a request to a replica and counts it as in flight until its exchange has ended. */
export function send(replica: Replica, request: Omit<HttpExchangeRequest, 'origin'>, signal: AbortSignal): Exchange {
  replica.inFlight += 1;
  return new Exchange(replica.dispatcher, { ...request, origin: replica.endpoints.origin }, signal, () => {
    replica.inFlight -= 1;
  });
}

/** Whether a status is worth another attempt. Reports a failure to the replica set if it is the replica's fault. */
export function isTransient(status: number, replica: Replica, replicas: Replicas): boolean {
  const isPassing = TRANSIENT_STATUSES.has(status);
  // 429 is not a fault of the replica; a 502 of a proxy in front of it is.
  if (isPassing && status !== 429) replicas.failed(replica, `status ${status}`);
  return isPassing;
}

/** URL of an endpoint for logs, without the query, which may contain a key. */
export function redactedUrl(replica: Replica, path: string): string {
  return replica.endpoints.origin + path.split('?', 1)[0];
}

/** Backoff before the next attempt, if the upstream sends none. */
function backoffSeconds(attempt: number, { retrySeconds }: UpstreamTimeouts): number {
  return retrySeconds * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
}
