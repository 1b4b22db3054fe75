import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { idempotencyConflict } from '../../errors.ts';
import { releaseKey } from './store.ts';

/** Steps of a route with a streamed body, whose identity is known only at its end. */
export interface StreamedSteps<T> {
  /** Executes the request. `identity` identifies its content. */
  perform(): Promise<{ response: T; identity: string }>;
  /** Reads the body without executing the request; returns its identity. */
  identify(): Promise<string>;
}

/**
 * Returns the response of a route with `idempotent: 'streamed'`: executes the first use of an `Idempotency-Key` and
 * requests without a key, replays repeated requests, and throws 409 for other content. Unlike with JSON bodies, errors
 * are not replayed, because an incomplete form has no identity.
 */
export async function respondOnce<T>(
  deps: Pick<Deps, 'db'>,
  request: FastifyRequest,
  reply: FastifyReply,
  steps: StreamedSteps<T>,
): Promise<T> {
  const { idempotencyUse: use, firstResponse: first } = request;
  if (first !== null) {
    if (requestFingerprint(request, await steps.identify()) !== first.fingerprint) {
      throw idempotencyConflict('This Idempotency-Key was used with another request.');
    }
    reply.code(first.status).header('idempotent-replayed', 'true');
    return first.body as T;
  }
  try {
    const { response, identity } = await steps.perform();
    if (use !== null) use.fingerprint = requestFingerprint(request, identity);
    return response;
  } catch (error) {
    request.idempotencyUse = null;
    if (use !== null) await releaseKey(deps.db.sql, use);
    throw error;
  }
}

function requestFingerprint(request: FastifyRequest, identity: string): string {
  return createHash('sha256').update([request.method, request.url, identity].join('\n')).digest('hex');
}
