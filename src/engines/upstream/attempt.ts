import type { ApiError } from '../../errors.ts';
import { retry } from '../../lib/retry.ts';
import type { Endpoints } from './base-url.ts';
import {
  exchangeErrorToApiError,
  OVERLOAD_STATUSES,
  parseUpstreamError,
  type UpstreamError,
  type UpstreamErrorContext,
  upstreamErrorToApiError,
} from './error-mapping.ts';
import { Exchange, HttpExchangeError, type HttpExchangeRequest } from './http-exchange.ts';
import type { Replica, Replicas } from './replicas.ts';
import type { UpstreamTimeouts } from './timeouts.ts';

/** Maximum `Retry-After` to wait for; longer ones are passed on to the caller. */
const MAX_WAIT_MS = 5_000;

/** Maximum bytes of an error body. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Statuses that are worth another attempt. */
const TRANSIENT_STATUSES = new Set([...OVERLOAD_STATUSES, 502, 503, 504]);

/** Replicas, credentials and timeouts of a request. */
export interface AttemptContext {
  replicas: Replicas;
  headers: Record<string, string>;
  apiKey: string | null;
  timeouts: UpstreamTimeouts;
}

/** A failed attempt. `waitMs`: the `Retry-After` of the upstream; null when there is none. */
export interface FailedAttempt {
  error: Error;
  isPassing: boolean;
  waitMs: number | null;
}

/** An attempt that ended with an error response. */
export interface RejectedAttempt extends FailedAttempt {
  error: ApiError;
}

/** A request, and how its responses are read. */
export interface UpstreamRequest<T> {
  /** The request to a replica, called for each attempt. */
  prepare(endpoints: Endpoints): Pick<HttpExchangeRequest, 'path' | 'method' | 'body' | 'firstByteSeconds'>;
  /** Field of the caller's request to report when the upstream rejects this one. */
  param: string;
  /** Key of the prompt's prefix (`affinityKey`). Absent: no prompt. */
  prefix?: string;
  /** Context length in tokens, for errors. Absent: unknown. */
  contextLength?(): number | null;
  /** Reads a response with status 2xx. The replica is healthy when it resolves. */
  read(exchange: Exchange, first: Buffer | null, replica: Replica): Promise<T>;
  /** Decides what an error response means for this request. */
  reviewRejection?(upstreamError: UpstreamError, failed: RejectedAttempt): FailedAttempt;
}

/**
 * Sends a request until one attempt succeeds, at most three times, which covers the restart of one replica and a short
 * overload. Prefers replicas that were not tried, without a wait. Throws the error of the last attempt, or the signal's
 * reason.
 */
export function attempt<T>(context: AttemptContext, request: UpstreamRequest<T>, signal: AbortSignal): Promise<T> {
  const { replicas, timeouts } = context;
  const backoffMs = timeouts.retrySeconds * 1000;
  const tried = new Set<Replica>();
  let failed: FailedAttempt | null = null;
  const call = async () => {
    const replica = replicas.choose(tried, request.prefix);
    tried.add(replica);
    const outcome = await sendOnce(context, replica, request, signal);
    if ('result' in outcome) return outcome.result;
    failed = outcome;
    throw outcome.error;
  };
  return retry(call, {
    delaysMs: [backoffMs, 2 * backoffMs],
    jitter: [0.5, 1],
    isPassing: (error) =>
      failed !== null && failed.error === error && failed.isPassing && (failed.waitMs ?? 0) <= MAX_WAIT_MS,
    retryAfterMs: () => (tried.size < replicas.all.length ? 0 : (failed?.waitMs ?? null)),
    signal,
  });
}

async function sendOnce<T>(
  context: AttemptContext,
  replica: Replica,
  request: UpstreamRequest<T>,
  signal: AbortSignal,
): Promise<{ result: T } | FailedAttempt> {
  const { replicas, headers, timeouts } = context;
  const { endpoints, dispatcher } = replica;
  const { origin } = endpoints;
  const { path, ...prepared } = request.prepare(endpoints);
  const { idleSeconds } = timeouts;
  replica.inFlight += 1;
  const exchange = new Exchange(dispatcher, { origin, path, headers, idleSeconds, ...prepared }, signal, () => {
    replica.inFlight -= 1;
  });
  try {
    const first = await exchange.first();
    const { status, retryAfter } = exchange;
    if (status >= 200 && status <= 299) {
      const result = await request.read(exchange, first, replica);
      replicas.succeeded(replica);
      return { result };
    }
    const upstreamError = parseUpstreamError(status, await exchange.text(first, MAX_ERROR_BYTES), retryAfter);
    const failed = rejectedAttempt(context, replica, upstreamError, {
      param: request.param,
      contextLength: request.contextLength?.() ?? null,
      address: redactedUrl(replica, path),
      apiKey: context.apiKey,
    });
    return request.reviewRejection?.(upstreamError, failed) ?? failed;
  } catch (error) {
    signal.throwIfAborted();
    // Other errors are not a fault of the replica, which has responded.
    const isTransportError = error instanceof HttpExchangeError;
    if (isTransportError) replicas.failed(replica, error.message);
    const isPassing = isTransportError && error.kind === 'connection';
    const apiError = exchangeErrorToApiError(error, redactedUrl(replica, path), false);
    return { error: apiError, isPassing, waitMs: null };
  }
}

function rejectedAttempt(
  { replicas }: AttemptContext,
  replica: Replica,
  upstreamError: UpstreamError,
  errorContext: UpstreamErrorContext,
): RejectedAttempt {
  const { status, retryAfterSeconds } = upstreamError;
  const isPassing = TRANSIENT_STATUSES.has(status);
  // An overload is not a fault of the replica; a 502 of a proxy in front of it is.
  if (isPassing && !OVERLOAD_STATUSES.has(status)) replicas.failed(replica, `status ${status}`);
  const error = upstreamErrorToApiError(upstreamError, errorContext);
  return { error, isPassing, waitMs: retryAfterSeconds === null ? null : retryAfterSeconds * 1000 };
}

/** URL of an endpoint for logs, without the query, which may contain a key. */
export function redactedUrl(replica: Replica, path: string): string {
  return replica.endpoints.origin + path.split('?', 1)[0];
}
