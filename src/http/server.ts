import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import cors from '@fastify/cors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { ApiError, missingField } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { runForCaller } from '../lib/organization-context.ts';
import type { App } from './app.ts';
import { type Authenticate, requireAccess } from './auth.ts';
import { BodyBudget } from './body-budget.ts';
import { respondToClientError } from './client-error.ts';
import { collectAfterBodies } from './collect-after-bodies.ts';
import { compressForBrowsers } from './compression.ts';
import { countHandlers, stopping } from './drain.ts';
import { asApiError, handleErrors, sendError } from './error-handler.ts';
import { readForwardedFor } from './forwarded-for.ts';
import { acceptJson } from './json-body.ts';
import { PublicBodies } from './public-bodies.ts';
import { limitRequest, limitTokens, type RateLimiter, UNLIMITED_HEADERS } from './rate-limit.ts';
import { closeAfterUnreadBody, needsNoKey } from './unread-body.ts';
import { compileValidator, toApiError } from './validation.ts';
import type { ConnectionTimes } from './web-socket-connection.ts';
import { acceptWebSockets, opensWebSocket } from './web-sockets.ts';

/** Headers of every response. Responses are data: no rendering, framing, sniffing or caching by browsers. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-site',
  'cache-control': 'no-store',
} as const;

/** Maximum interval at which Node checks for request timeouts. */
const LATE_CHECK_MS = 5_000;

/**
 * High-water mark of unread request bodies. Node reads up to 64 KiB per call and stops above this mark, so at most one
 * read is made of the body of a request that is not admitted.
 */
const MAX_UNREAD_BYTES = 16_384;

/** Response headers that browsers may read. */
const EXPOSED_HEADERS = [
  ...[
    'x-request-id',
    'x-cache-status',
    'retry-after',
    'x-moderation-warning',
    'x-guardrail-policy',
    'x-budget-warning',
    'idempotent-replayed',
  ],
  ...['requests', 'tokens'].flatMap((kind) =>
    ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-${kind}`),
  ),
  ...['etag', 'content-disposition', 'x-passage-marked'],
];

/** Methods of all routes; the plugin allows only GET, HEAD and POST by default. */
const CORS_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Cache lifetime of a CORS preflight. */
const PREFLIGHT_SECONDS = 600;

/** A JSON body in flight exists about five times in memory: text, parsed value, and the request to the engine. */
const HEAP_SHARE_OF_BODIES = 1 / 8;

/** Budget for JSON bodies in flight: a share of V8's heap limit, at least two bodies of the maximum size. */
function budgetBytes({ bodyLimitBytes, bodiesInFlightBytes }: ServerOptions): number {
  if (bodiesInFlightBytes !== undefined) return bodiesInFlightBytes;
  return Math.max(2 * bodyLimitBytes, getHeapStatistics().heap_size_limit * HEAP_SHARE_OF_BODIES);
}

/** Options of `createServer`. Accounts and limits are injected. */
export interface ServerOptions {
  logger: Logger;
  bodyLimitBytes: number;
  corsOrigins: readonly string[] | null;
  /** Addresses and CIDR ranges of the reverse proxies whose `X-Forwarded-For` counts; absent or null: none. */
  trustedProxies?: readonly string[] | null;
  /** Time limit for receiving a whole request; 0: none. */
  requestTimeoutMs: number;
  authenticate: Authenticate;
  limiter: RateLimiter;
  /** Time limit for receiving the body of a route that needs no key. Default: 10 s. */
  publicBodyMs?: number;
  /** Time limits of WebSockets. */
  connectionTimes?: Partial<ConnectionTimes>;
  /** Budget for JSON bodies in flight, in bytes. Default: a share of V8's heap limit. */
  bodiesInFlightBytes?: number;
}

/** Creates the Fastify server with admission, body limits and error handling, without routes. */
export async function createServer(options: ServerOptions): Promise<App> {
  const trustedProxies = options.trustedProxies ?? [];
  const app = fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    // Log lines carry the request id themselves; a child logger per request costs more than the line.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId('request'),
    requestIdHeader: false,
    bodyLimit: options.bodyLimitBytes,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestTimeout: options.requestTimeoutMs,
    http: {
      highWaterMark: MAX_UNREAD_BYTES,
      headersTimeout: options.requestTimeoutMs,
      shouldUpgradeCallback: opensWebSocket,
      // Default: 30 s.
      connectionsCheckingInterval: Math.min(LATE_CHECK_MS, Math.max(1, options.requestTimeoutMs)),
    },
    // `onRequest` below responds with an error of the catalogue instead.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // A base URL that ends in `/` makes clients send `//v1/models`.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    clientErrorHandler: respondToClientError,
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
      sendError(asApiError(error, request, options.bodyLimitBytes), request, reply);
    },
    schemaErrorFormatter: (errors) => toApiError(errors as Parameters<typeof toApiError>[0]),
  }).withTypeProvider<TypeBoxTypeProvider>();
  // Enabled by default; no route accepts it.
  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler(compileValidator);
  // Response schemas are for documentation and tests. Serializing with them would drop fields that they lack.
  app.setSerializerCompiler(() => JSON.stringify);
  handleErrors(app, options.bodyLimitBytes);
  limitTokens(app);
  countHandlers(app);
  closeIdleOnStop(app);
  readForwardedFor(app, { trustedProxies, logger: options.logger });
  setCommonHeaders(app);
  // Before the admission: preflight requests carry no key.
  if (options.corsOrigins !== null) await allowOrigins(app, options.corsOrigins);
  admitRequests(app, options);
  ignoreTypeOfEmptyBodies(app);
  closeAfterUnreadBody(app);
  compressForBrowsers(app);
  const budget = new BodyBudget(budgetBytes(options), collectAfterBodies());
  const publicBodies = new PublicBodies(options.publicBodyMs);
  acceptJson(app, { bodyLimitBytes: options.bodyLimitBytes, budget, publicBodies });
  acceptWebSockets(app, { ...options, budget });
  return app;
}

/** Headers of every response, whatever rejects the request. */
function setCommonHeaders(app: Pick<App, 'addHook' | 'shutdown'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    const { requestIdHeader } = request.routeOptions.config.protocol ?? {};
    if (requestIdHeader !== undefined) reply.header(requestIdHeader, request.id);
    // Proxies must not reuse a keep-alive connection that is about to be closed. This header is sent only after the
    // listener is closed: earlier, every request would open a connection, and connections in the backlog are reset.
    if (app.shutdown.isClosing) reply.header('connection', 'close');
    done();
  });
}

/** Allows browsers of other origins (CORS). */
async function allowOrigins(app: App, origins: readonly string[]): Promise<void> {
  // The plugin answers an OPTIONS request that is no preflight with plain text.
  app.addHook('onRequest', (request, _reply, done) => {
    const { origin, 'access-control-request-method': method } = request.headers;
    const isPreflight = origin !== undefined && method !== undefined;
    done(request.method === 'OPTIONS' && !isPreflight ? missingField('access-control-request-method') : undefined);
  });
  await app.register(cors, {
    origin: origins.includes('*') ? '*' : [...origins],
    methods: CORS_METHODS,
    maxAge: PREFLIGHT_SECONDS,
    exposedHeaders: EXPOSED_HEADERS,
  });
}

/** Interval at which a stopping server closes idle connections. */
const IDLE_CHECK_MS = 100;

/** Age at which a connection without any bytes is idle. The request of a younger one may be on its way. */
const SILENT_MS = 1_000;

/** Closes idle connections during a stop, which waits only for running requests. */
function closeIdleOnStop(app: Pick<App, 'server' | 'addHook'>): void {
  /** Open connections with the times at which they were accepted. */
  const sockets = new Map<Socket, number>();
  app.server.on('connection', (socket: Socket) => {
    sockets.set(socket, performance.now());
    socket.once('close', () => sockets.delete(socket));
  });
  const closeIdle = () => {
    app.server.closeIdleConnections();
    // Node counts connections without any bytes as busy until the headers timeout.
    const silentSince = performance.now() - SILENT_MS;
    for (const [socket, acceptedAt] of sockets)
      if (socket.bytesRead === 0 && acceptedAt <= silentSince) socket.destroy();
  };
  let check: NodeJS.Timeout | undefined;
  let isClosed = false;
  app.addHook('preClose', async () => {
    if (!isClosed) check = setInterval(closeIdle, IDLE_CHECK_MS);
  });
  // `onClose` hooks can run before the server has closed.
  app.server.once('close', () => {
    isClosed = true;
    clearInterval(check);
  });
}

/** OpenAI's Python client sends a content type with every POST, even without a body. */
function ignoreTypeOfEmptyBodies(app: Pick<App, 'addHook'>): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request;
    const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
    if (isEmpty && request.routeOptions.schema?.body === undefined) delete headers['content-type'];
    done();
  });
}

/** Admits requests before their body is read: response headers, authentication, scope and rate limits. */
function admitRequests(app: App, options: ServerOptions): void {
  const { authenticate, limiter } = options;
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('reply', null);
  app.decorateRequest('callLog', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.reply = reply;
    const requireRouteScope = () => {
      if (request.caller !== null) requireAccess(request.caller, request.method, request.routeOptions.config);
    };
    const onAuthenticated = (caller: FastifyRequest['caller']): undefined | Promise<void> => {
      request.caller = caller;
      const limited = limitRequest(limiter, request, reply);
      if (limited !== undefined) return limited.then(requireRouteScope);
      requireRouteScope();
      return undefined;
    };
    const onRejected = (error: unknown) => {
      if (error instanceof ApiError && error.status === 401) reply.headers(UNLIMITED_HEADERS);
      done(error as Error);
    };
    try {
      if (isStopping) throw stopping();
      const isPublic = request.is404 || needsNoKey(request);
      const caller = isPublic ? null : authenticate(request);
      const admitted = caller instanceof Promise ? caller.then(onAuthenticated) : onAuthenticated(caller);
      const proceed = () => runForCaller(request.caller ?? { organizationId: '' }, done);
      if (admitted === undefined) proceed();
      else admitted.then(proceed, onRejected);
    } catch (error) {
      onRejected(error);
    }
  });
}
