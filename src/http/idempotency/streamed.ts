import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { idempotencyConflict } from '../../errors.ts';
import { releaseKey } from './store.ts';

/** What a route does whose body is read as a stream: nobody knows before its end whether it is the same as the first. */
export interface StreamedSteps<T> {
  /** Does it. `identity` says what was sent. */
  perform(): Promise<{ answer: T; identity: string }>;
  /** Reads the body and does nothing: only says what was sent. */
  identify(): Promise<string>;
}

/**
 * The answer of a route with `idempotent: 'streamed'`: performed on the first use of its `Idempotency-Key` and where there is
 * none, replayed when the same was sent again, 409 when it was something else. Unlike those of JSON, a refusal is not kept:
 * a form whose reading broke off has no identity, and may be sent again under its key.
 */
export async function answerOnce<T>(
  deps: Pick<Deps, 'db'>,
  request: FastifyRequest,
  reply: FastifyReply,
  steps: StreamedSteps<T>,
): Promise<T> {
  const { idempotentUse: use, idempotentFirst: first } = request;
  if (first !== null) {
    if (fingerprintOf(request, await steps.identify()) !== first.fingerprint) {
      throw idempotencyConflict('This Idempotency-Key was used with another request.');
    }
    reply.code(first.status).header('idempotent-replayed', 'true');
    return first.body as T;
  }
  try {
    const { answer, identity } = await steps.perform();
    if (use !== null) use.fingerprint = fingerprintOf(request, identity);
    return answer;
  } catch (error) {
    request.idempotentUse = null;
    if (use !== null) await releaseKey(deps.db.sql, use);
    throw error;
  }
}

function fingerprintOf(request: FastifyRequest, identity: string): string {
  return createHash('sha256').update([request.method, request.url, identity].join('\n')).digest('hex');
}
