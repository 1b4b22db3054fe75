import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FailedStatement } from '../db/failed-statement.ts';
import {
  ApiError,
  invalidValue,
  methodNotAllowed,
  requestTooLarge,
  unknownUrl,
  unsupportedMediaType,
} from '../errors.ts';
import { CallLog } from '../lib/call-log.ts';
import { describeCause } from '../lib/operator-error.ts';
import { StoreUnavailableError } from '../lib/store-unavailable.ts';
import { ClientDisconnected } from './event-stream.ts';
import { knownError } from './known-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Sends the page of the console for a path that does not exist; null without a console. */
    notFoundPage: ((reply: FastifyReply) => FastifyReply) | null;
  }
  interface FastifyContextConfig {
    /** Path of the protected-resource metadata (RFC 9728) that a 401 names. */
    resourceMetadata?: string;
    /** A page of the console, which browsers open. Other clients get 404. */
    isPage?: boolean;
  }
}

/** Above this wait, automatic client retries are disabled with `x-should-retry: false`. */
const MAX_SENSIBLE_RETRY_SECONDS = 60;

/** Maps an error thrown by Quire, Fastify or Node to an error of the catalogue. */
export function asApiError(error: unknown, request: FastifyRequest, bodyLimitBytes: number): ApiError {
  const isKnown = [ApiError, FailedStatement, StoreUnavailableError].some((type) => error instanceof type);
  if (isKnown) return knownError(error);
  const { code = '', statusCode } = error as Partial<FastifyError>;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return requestTooLarge(bodyLimitBytes);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
      return unsupportedMediaType(request.headers['content-type'] ?? '');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidValue('content-length', 'does not match the body');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return unknownUrl(request.method, request.url);
  }
  // @fastify/static rejects paths that leave the folder of the console.
  if (statusCode === 403 || statusCode === 404) return unknownUrl(request.method, request.url);
  return knownError(error);
}

/** Response headers of an error: `Retry-After`, `x-should-retry`, `Allow`. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const wait = error.retryAfterSeconds;
  const isPointless = error.status === 409 || (wait !== null && wait > MAX_SENSIBLE_RETRY_SECONDS);
  return {
    ...error.headers,
    ...(wait !== null && { 'retry-after': String(wait) }),
    ...(isPointless && { 'x-should-retry': 'false' }),
  };
}

/** Logs the cause of a server error. */
export function logFailure(log: Pick<FastifyBaseLogger, 'error'>, error: ApiError, requestId: string): void {
  if (error.status < 500) return;
  const { code, message: reason } = error;
  log.error({ requestId, code, reason, cause: describeCause(error) }, 'request failed');
}

/** Sends the error response. Logs the cause of server errors; never the caller's input. */
export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  logFailure(request.log, error, request.id);
  request.callLog ??= new CallLog();
  request.callLog.fail(error);
  const { resourceMetadata, protocol } = request.routeOptions.config;
  if (error.status === 401 && resourceMetadata !== undefined) {
    const url = `${request.protocol}://${request.host}${resourceMetadata}`;
    error.headers['www-authenticate'] += `, resource_metadata="${url}"`;
  }
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(protocol?.errorBody(error, request.id) ?? error.body());
}

/** Installs the responses to thrown errors, unknown paths (404) and wrong methods (405 with `Allow`). */
export function handleErrors(app: FastifyInstance, bodyLimitBytes: number): void {
  const routes: { methods: string[]; pattern: RegExp }[] = [];
  app.decorate('notFoundPage', null);
  app.addHook('onRoute', ({ method, url, config }) => {
    // The CORS plugin registers OPTIONS for every path. Pages are for browsers: API clients have left out `/v1`.
    if (method === 'OPTIONS' || config?.isPage) return;
    routes.push({ methods: [method].flat(), pattern: routePattern(url) });
  });
  app.setErrorHandler((error, request, reply) => {
    // A disconnected client is not an error.
    if (error instanceof ClientDisconnected) {
      app.recordReply?.(reply);
      return reply.hijack();
    }
    return sendError(asApiError(error, request, bodyLimitBytes), request, reply);
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? request.url;
    // A route that found nothing may have allowed caches to keep its response.
    reply.header('cache-control', 'no-store');
    if (app.notFoundPage !== null && isNavigation(request)) return app.notFoundPage(reply.code(404));
    const allowed = [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))];
    const isKnown = allowed.length > 0 && !allowed.includes(request.method);
    const isOfApi = routes.some(({ pattern }) => pattern.test(`/v1${path}`));
    const error = isKnown ? methodNotAllowed(request.method, path, allowed) : unknownUrl(request.method, path, isOfApi);
    return sendError(error, request, reply);
  });
}

/** Whether a browser opens the path as a page. Paths of the API are answered as JSON even then. */
export function isNavigation({ method, url, headers }: FastifyRequest): boolean {
  const isReading = method === 'GET' || method === 'HEAD';
  return isReading && !/^\/+v1(\/|$)/.test(url) && /\btext\/html\b/i.test(headers.accept ?? '');
}

/** Pattern of a route such as `/v1/models/:model_id`, used to distinguish 405 from 404. */
function routePattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}/?$`);
}
