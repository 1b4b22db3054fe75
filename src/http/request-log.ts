import { Histogram, type Registry } from 'prom-client';
import type { Caller } from '../lib/caller.ts';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';

/** Histogram buckets in seconds, from a cached lookup to a long generation. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

declare module 'fastify' {
  interface FastifyInstance {
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
}

/** Logs and measures every request by route, status and duration. Logs no body and no key. */
export function logRequests(app: App, registry: Registry, logger: Logger): void {
  const duration = new Histogram({
    name: 'quire_http_request_seconds',
    help: 'Time from the head of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  // These fields cannot contain secrets, and redaction costs 1.5 % of a gateway call.
  const requestLogger = logger.child({}, { redact: [] });
  const record = ({ requestId, method, route, status, milliseconds, caller, isWhole }: EndedRequest) => {
    duration.observe({ method, route, status }, milliseconds / 1000);
    if (!requestLogger.isLevelEnabled('info')) return;
    const { organizationId, keyId } = caller ?? {};
    const line = { requestId, method, route, status, ms: Math.round(milliseconds) };
    requestLogger.info({ ...line, organizationId, keyId, isWhole }, 'request');
  };
  app.decorate('recordRequest', record);
  app.addHook('onResponse', ({ id: requestId, method, routeOptions, caller }, reply, done) => {
    const { elapsedTime: milliseconds, statusCode: status, raw } = reply;
    const route = routeOptions.url ?? 'unknown';
    record({ requestId, method, route, status, milliseconds, caller, isWhole: raw.writableFinished });
    done();
  });
}
