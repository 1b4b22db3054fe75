import type { ApiError } from '../../errors.ts';
import { type AttemptContext, attempt, redactedUrl } from './attempt.ts';
import type { Endpoints } from './base-url.ts';
import { invalidResponse } from './error-mapping.ts';

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

/**
 * Sends a request to a replica, with retries, and returns the parsed response. Throws an `ApiError`,
 * `DialectMismatchError` if the request allows it, or the signal's reason.
 */
export async function sendJsonRequest(
  context: AttemptContext,
  { endpoint, body, param, maxResponseBytes, otherDialect }: JsonRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const { firstByteSeconds } = context.timeouts;
  const method = body === null ? 'GET' : 'POST';
  const { text, address } = await attempt(
    context,
    {
      prepare: (endpoints) => ({ path: endpoints[endpoint], method, body, firstByteSeconds }),
      param,
      read: async (exchange, first, replica) => ({
        text: await exchange.text(first, maxResponseBytes),
        address: redactedUrl(replica, replica.endpoints[endpoint]),
      }),
      reviewRejection: ({ status }, failed) =>
        otherDialect?.has(status) ? { ...failed, error: new DialectMismatchError(failed.error) } : failed,
    },
    signal,
  );
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidResponse(new Error(`${address} returned a body that is not JSON`, { cause: error }));
  }
}
