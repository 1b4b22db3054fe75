import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { insufficientScope, readOnlyRole } from '../errors.ts';
import { CallLog } from '../lib/call-log.ts';
import type { Call, Caller, Scope } from '../lib/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; null on public routes. */
    caller: Caller | null;
    /** What the request log stores of the request; null before its first use. */
    callLog: CallLog | null;
    /** The reply to this request, for headers that use cases add. */
    reply: FastifyReply | null;
  }
  interface FastifyContextConfig {
    /** Scope required of the key. `public`: no key required. Absent: any valid key. */
    scope?: Scope | 'public';
    /** Statuses of the errors of a public route that reads, opens or ends a session of the console. */
    sessionErrors?: readonly (401 | 403 | 429)[];
    /** Users of the console need no scope, whatever their role. */
    openToUsers?: boolean;
    /** Users with the role `viewer` may use it, whatever the method: it changes nothing of their organization. */
    openToViewers?: boolean;
    /**
     * Whether an `Idempotency-Key` replays the first response: true on every creating POST except inference.
     * `streamed`: the handler reads the body itself and responds through `respondOnce`. `sealed`: the response has a
     * secret; it is stored encrypted and replayed to the same key only.
     */
    idempotent?: boolean | 'streamed' | 'sealed';
  }
}

/** What authentication reads of a request. */
export type AuthenticatedRequest = Pick<FastifyRequest, 'method' | 'headers' | 'ip' | 'hostname' | 'routeOptions'>;

/** Resolves the caller behind an API key or a console session; throws 401. Synchronous when the key is cached. */
export type Authenticate = (request: AuthenticatedRequest) => Caller | Promise<Caller>;

/** Whether the caller has the scope. `admin` includes `keys`: it manages the keys of all organizations. */
export function hasScope({ scopes }: Caller, scope: Scope): boolean {
  return scopes.has(scope) || (scope === 'keys' && scopes.has('admin'));
}

/** Throws 403 `insufficient_scope` unless the caller has the scope. */
export function requireScope(caller: Caller, scope: Scope, param: string | null = null): void {
  if (!hasScope(caller, scope)) {
    const holder = caller.role === undefined ? 'This API key' : `Your role '${caller.role}'`;
    throw insufficientScope(`${holder} lacks the scope '${scope}', which this request needs.`, param);
  }
}

/** Methods that the role `viewer` may use. */
const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whom a route is open to. */
type RouteAccess = Pick<FastifyContextConfig, 'scope' | 'openToUsers' | 'openToViewers'>;

/** Throws 403 unless the scopes and the role of the caller permit a request of that method to the route. */
export function requireAccess(
  caller: Caller,
  method: string,
  { scope, openToUsers = false, openToViewers = false }: RouteAccess,
): void {
  const isOpen = scope === undefined || scope === 'public' || (openToUsers && caller.role !== undefined);
  if (!isOpen) requireScope(caller, scope);
  if (caller.role === 'viewer' && !openToViewers && !READING_METHODS.has(method)) throw readOnlyRole();
}

/** What `toCall` reads of a request. */
type AuthenticRequest = Pick<
  FastifyRequest,
  'routeOptions' | 'url' | 'caller' | 'id' | 'ip' | 'rateLease' | 'reply' | 'callLog'
>;

/** The call context that routes pass to use cases. Throws on routes without authentication. */
export function toCall(request: AuthenticRequest): Call {
  const endpoint = request.routeOptions.url ?? request.url;
  const { caller, id: requestId, ip: address, rateLease } = request;
  if (caller === null) throw new Error('toCall needs an authenticated route');
  const setHeader = (name: string, value: string) => void request.reply?.header(name, value);
  request.callLog ??= new CallLog();
  const { callLog: log } = request;
  const call: Call = { caller, requestId, address, endpoint, priority: 'interactive', setHeader, log };
  if (rateLease !== null) call.countTokens = (tokens) => rateLease.countTokens(tokens);
  return call;
}
