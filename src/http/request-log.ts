import type { FastifyReply } from 'fastify';
import { Histogram, type Registry } from 'prom-client';
import type { CallLog } from '../lib/call-log.ts';
import type { Caller } from '../lib/caller.ts';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';
import { routeRateClass } from './rate-limit.ts';

/** Histogram buckets in seconds, from a cached lookup to a long generation. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

declare module 'fastify' {
  interface FastifyRequest {
    isRecorded: boolean;
  }
  interface FastifyInstance {
    /** Logs and measures a reply that has ended, once. Fastify does not see the end when the client disconnects. */
    recordReply?: (reply: FastifyReply) => void;
    /** Logs and measures a request that has ended; absent unless requests are logged. */
    recordRequest?: (request: EndedRequest) => void;
  }
}

/** A request that has ended. */
export interface EndedRequest {
  requestId: string;
  method: string;
  route: string;
  status: number;
  milliseconds: number;
  caller: Caller | null;
  /** Whether the client has got the whole response. */
  isWhole: boolean;
  /** Absent when the request was rejected before anything was noted, and has no error. */
  callLog: CallLog | null;
  /** Whether the route calls models. */
  usesModels: boolean;
  /** Request body. Undefined if it was not read. */
  body?: unknown;
  /** Header of W3C Trace Context. */
  traceparent?: unknown;
}

/**
 * Logs and measures every request by route, status and duration. Logs no body and no key. `onEnd` is called with each
 * request to a route that calls models.
 */
export function logRequests(
  app: App,
  registry: Registry,
  logger: Logger,
  onEnd: (request: EndedRequest) => void = () => {},
): void {
  const duration = new Histogram({
    name: 'quire_http_request_seconds',
    help: 'Time from the head of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  // These fields cannot contain secrets, and redaction costs 1.5 % of a gateway call.
  const requestLogger = logger.child({}, { redact: [] });
  const record = (ended: EndedRequest) => {
    const { requestId, method, route, status, milliseconds, caller, isWhole } = ended;
    if (ended.usesModels) onEnd(ended);
    duration.observe({ method, route, status }, milliseconds / 1000);
    if (!requestLogger.isLevelEnabled('info')) return;
    const { organizationId, keyId } = caller ?? {};
    const line = { requestId, method, route, status, ms: Math.round(milliseconds) };
    requestLogger.info({ ...line, organizationId, keyId, isWhole }, 'request');
  };
  app.decorate('recordRequest', record);
  app.decorateRequest('isRecorded', false);
  const recordReply = (reply: FastifyReply) => {
    const { request, elapsedTime: milliseconds, statusCode: status, raw } = reply;
    if (request.isRecorded) return;
    request.isRecorded = true;
    const { id: requestId, method, routeOptions, caller, callLog, body, headers } = request;
    const route = routeOptions.url ?? 'unknown';
    const { usesTokens = false } = routeOptions.config;
    const usesModels = usesTokens || routeRateClass(method, routeOptions.config) === 'inference';
    const ended = { requestId, method, route, status, milliseconds, caller, isWhole: raw.writableFinished };
    record({ ...ended, callLog, usesModels, body, traceparent: headers['traceparent'] });
  };
  app.decorate('recordReply', recordReply);
  app.addHook('onResponse', (_request, reply, done) => {
    recordReply(reply);
    done();
  });
}
