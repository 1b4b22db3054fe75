import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import cors from '@fastify/cors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';
import { type Authenticate, requireScope } from './auth.ts';
import { BodyBudget } from './body-budget.ts';
import { answerClientError } from './client-error.ts';
import { collectAfterBodies } from './collect-after-bodies.ts';
import { countHandlers, stopping } from './drain.ts';
import { asApiError, handleErrors, sendError } from './error-handler.ts';
import { acceptJson } from './json-body.ts';
import { type Limit, rateLimitHeaders } from './rate-limit.ts';
import { closeAfterUnreadBody } from './unread-body.ts';
import { compileValidator, toApiError } from './validation.ts';

/** What every answer carries: it is data, to be shown by no browser, framed by no page, guessed at by no sniffer. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-site',
  'cache-control': 'no-store',
} as const;

/** How late the answer to a request that does not arrive may itself be. */
const LATE_CHECK_MS = 5_000;

/**
 * Bytes of a body that Node buffers before somebody reads it. Node reads up to 64 KiB at a time, so a request that is not
 * admitted has one such read of its body taken in, and no second.
 */
const MAX_UNREAD_BYTES = 16_384;

/** How long a browser may believe a preflight. */
const PREFLIGHT_SECONDS = 600;

/** A JSON body in flight is held about five times: as text, parsed, and as what is sent to an engine. */
const HEAP_SHARE_OF_BODIES = 1 / 8;

/** Bytes of JSON bodies that may be in flight: a share of V8's heap limit, and at least two bodies of the largest size. */
function budgetBytes({ bodyLimitBytes, bodiesInFlightBytes }: ServerOptions): number {
  if (bodiesInFlightBytes !== undefined) return bodiesInFlightBytes;
  return Math.max(2 * bodyLimitBytes, getHeapStatistics().heap_size_limit * HEAP_SHARE_OF_BODIES);
}

/** How requests are taken in; what it knows of accounts and limits is passed in. */
export interface ServerOptions {
  logger: Logger;
  bodyLimitBytes: number;
  corsOrigins: readonly string[] | null;
  /** A request must have arrived within this time; 0: no bound. */
  requestTimeoutMs: number;
  authenticate: Authenticate;
  limit: Limit;
  /** Bytes of all JSON bodies in flight; a share of V8's heap unless given. */
  bodiesInFlightBytes?: number;
}

/** A Fastify that answers as the interface says, without a route yet. */
export async function createServer(options: ServerOptions): Promise<App> {
  const app = fastify({
    loggerInstance: options.logger as FastifyBaseLogger,
    // Every line of ours carries the request's id itself; a logger of its own for each request costs more than the line.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newId('request'),
    requestIdHeader: false,
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: options.requestTimeoutMs,
    http: {
      highWaterMark: MAX_UNREAD_BYTES,
      headersTimeout: options.requestTimeoutMs,
      // Node looks for late requests only this often, half a minute unless told.
      connectionsCheckingInterval: Math.min(LATE_CHECK_MS, Math.max(1, options.requestTimeoutMs)),
    },
    // Ours answers in the catalogue's words (onRequest below); Fastify's would not.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
      sendError(asApiError(error, request, options.bodyLimitBytes), request, reply);
    },
    schemaErrorFormatter: (errors) => toApiError(errors as Parameters<typeof toApiError>[0]),
  }).withTypeProvider<TypeBoxTypeProvider>();
  // Fastify reads this one too, and no route of ours wants it.
  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler(compileValidator);
  // Schemas of answers are for the documentation and the tests; serialising by them would hide what they do not name.
  app.setSerializerCompiler(() => JSON.stringify);
  handleErrors(app, options.bodyLimitBytes);
  countHandlers(app);
  closeIdleOnStop(app);
  if (options.corsOrigins !== null) {
    // Before the rest: a preflight carries no key.
    const origin = options.corsOrigins.includes('*') ? '*' : [...options.corsOrigins];
    await app.register(cors, { origin, maxAge: PREFLIGHT_SECONDS, exposedHeaders: ['x-request-id', 'x-cache-status'] });
  }
  admitRequests(app, options);
  forgiveEmptyBodies(app);
  closeAfterUnreadBody(app);
  const budget = new BodyBudget(budgetBytes(options), collectAfterBodies());
  acceptJson(app, { bodyLimitBytes: options.bodyLimitBytes, budget });
  return app;
}

/** How often a stopping server closes the connections over which nothing is asked. */
const IDLE_CHECK_MS = 100;

/** A stop waits for answers: not for clients that keep a connection after theirs, nor for those that never spoke. */
function closeIdleOnStop(app: Pick<App, 'server' | 'addHook'>): void {
  const open = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const closeIdle = () => {
    app.server.closeIdleConnections();
    // Node counts these as busy until their headers are late.
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
  let check: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    check = setInterval(closeIdle, IDLE_CHECK_MS);
  });
  // Hooks of `onClose` may run before the server has closed.
  app.server.once('close', () => clearInterval(check));
}

/** OpenAI's Python client names a type for every POST, also where it sends nothing and the route wants nothing. */
function forgiveEmptyBodies(app: Pick<App, 'addHook'>): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request;
    const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
    if (isEmpty && request.routeOptions.schema?.body === undefined) delete headers['content-type'];
    done();
  });
}

/** Before a byte of the body is read: the headers of every answer, who asks, whether they may, and how often. */
function admitRequests(app: App, options: ServerOptions): void {
  const { authenticate, limit } = options;
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    const admitted = (caller: FastifyRequest['caller']) => {
      const { scope } = request.routeOptions.config;
      request.caller = caller;
      reply.headers(rateLimitHeaders(limit(caller)));
      if (caller !== null && scope !== undefined && scope !== 'public') requireScope(caller, scope);
    };
    const refused = (error: unknown) => {
      // A refused caller learns its limits too; the bucket of nobody is the open one.
      if (error instanceof ApiError && error.status === 401) reply.headers(rateLimitHeaders(limit(null)));
      done(error as Error);
    };
    try {
      if (isStopping) throw stopping();
      const isOpen = request.is404 || request.routeOptions.config.scope === 'public';
      const caller = isOpen ? null : authenticate(request.headers.authorization);
      if (caller instanceof Promise) caller.then(admitted).then(() => done(), refused);
      else {
        admitted(caller);
        done();
      }
    } catch (error) {
      refused(error);
    }
  });
}
