import type { ApiError } from '../../errors.ts';
import type { Endpoints } from './base-url.ts';
import {
  exchangeErrorToApiError,
  invalidResponse,
  parseUpstreamError,
  upstreamErrorToApiError,
} from './error-mapping.ts';
import { HttpExchangeError } from './http-exchange.ts';
import type { Replica } from './replicas.ts';
import {
  type FailedAttempt,
  isTransient,
  MAX_ERROR_BYTES,
  type RetryContext,
  redactedUrl,
  send,
  withRetries,
} from './retries.ts';

/** A request for one JSON document. Idempotent: it may be sent twice. */
export interface JsonRequest {
  endpoint: Exclude<keyof Endpoints, 'origin'>;
  /** JSON; null: sent with GET. */
  body: string | null;
  /** Field of the caller's request to report when the upstream rejects this one. */
  param: string;
  /** Longer responses are invalid. */
  maxResponseBytes: number;
  /** Statuses that throw `DialectMismatchError`, because a server of another kind may be at the address. */
  otherDialect?: ReadonlySet<number>;
}

/** The server does not support this kind of request. The message is for the caller; `cause` has the response. */
export class DialectMismatchError extends Error {
  readonly upstreamError: ApiError;

  constructor(upstreamError: ApiError) {
    super(upstreamError.message, { cause: upstreamError.cause });
    this.upstreamError = upstreamError;
  }
}

/** Replicas and credentials of a request. */
export interface JsonRequestContext extends RetryContext {
  headers: Record<string, string>;
  apiKey: string | null;
}

/**
 * Sends a request to a replica, with retries, and returns the parsed response. Throws an `ApiError`,
 * `DialectMismatchError` if the request allows it, or the signal's reason.
 */
export function sendJsonRequest(
  context: JsonRequestContext,
  jsonRequest: JsonRequest,
  signal: AbortSignal,
): Promise<unknown> {
  return withRetries(context, (replica) => sendOnce(context, replica, jsonRequest, signal), signal);
}

async function sendOnce(
  context: JsonRequestContext,
  replica: Replica,
  jsonRequest: JsonRequest,
  signal: AbortSignal,
): Promise<{ result: unknown } | FailedAttempt> {
  const { replicas, headers, apiKey } = context;
  const { firstByteSeconds, idleSeconds } = context.timeouts;
  const { body } = jsonRequest;
  const path = replica.endpoints[jsonRequest.endpoint];
  const address = redactedUrl(replica, path);
  const method = body === null ? 'GET' : 'POST';
  const exchange = send(replica, { path, method, headers, body, firstByteSeconds, idleSeconds }, signal);
  try {
    const first = await exchange.first();
    const { status, retryAfter } = exchange;
    if (status >= 200 && status <= 299) {
      const text = await exchange.text(first, jsonRequest.maxResponseBytes);
      replicas.succeeded(replica);
      return { result: parsed(text, address) };
    }
    const upstreamError = parseUpstreamError(status, await exchange.text(first, MAX_ERROR_BYTES), retryAfter);
    const retry = isTransient(status, replica, replicas);
    const error = upstreamErrorToApiError(upstreamError, {
      param: jsonRequest.param,
      contextLength: null,
      address,
      apiKey,
    });
    const isMismatch = jsonRequest.otherDialect?.has(status) ?? false;
    return {
      error: isMismatch ? new DialectMismatchError(error) : error,
      retry,
      waitSeconds: upstreamError.retryAfterSeconds,
    };
  } catch (error) {
    signal.throwIfAborted();
    const isPassing = error instanceof HttpExchangeError && error.kind === 'connection';
    if (error instanceof HttpExchangeError) replicas.failed(replica, error.message);
    return { error: exchangeErrorToApiError(error, address, false), retry: isPassing, waitSeconds: null };
  }
}

function parsed(text: string, address: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidResponse(new Error(`${address} returned a body that is not JSON`, { cause: error }));
  }
}
