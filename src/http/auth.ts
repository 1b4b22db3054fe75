import type { FastifyRequest } from 'fastify';
import { insufficientScope } from '../errors.ts';
import type { Call, Caller, Scope } from '../lib/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null on the few routes that need no key. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** The scope that the key must have; `public` needs no key. Absent: any key will do. */
    scope?: Scope | 'public';
    /**
     * Whether an `Idempotency-Key` replays the first answer: on every creating POST but inference. `streamed`: the
     * handler reads the body itself, and answers by `answerOnce`.
     */
    idempotent?: boolean | 'streamed';
  }
}

/** Says who holds the key of the header `Authorization`; throws 401. Not a promise where nothing must be waited for. */
export type Authenticate = (authorization: string | undefined) => Caller | Promise<Caller>;

/** Throws 403 `insufficient_scope` unless the key has the scope. */
export function requireScope(caller: Caller, scope: Scope, param: string | null = null): void {
  if (!caller.scopes.has(scope)) {
    throw insufficientScope(`This API key lacks the scope '${scope}', which this request needs.`, param);
  }
}

/** What the use case of an authenticated route is given beside its input. */
export function toCall(request: FastifyRequest): Call {
  if (request.caller === null) throw new Error('a route without a caller asked for one');
  return { caller: request.caller, requestId: request.id, endpoint: request.routeOptions.url ?? request.url };
}
