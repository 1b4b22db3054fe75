import { setTimeout as delay } from 'node:timers/promises';
import { engineUnavailable } from '../errors.ts';
import { InFlight } from '../lib/in-flight.ts';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Handlers that have not settled. Handlers outlive closed connections, so connections cannot be counted instead.
     */
    inFlight: InFlight;
  }
}

/** `Retry-After` during a shutdown: a restarted process is ready within about this time. */
const STOPPING_RETRY_SECONDS = 5;

/** 503 for requests during a shutdown. */
export function stopping() {
  return engineUnavailable('This server is stopping.', STOPPING_RETRY_SECONDS);
}

/** Counts running handlers of all routes that are added after this call. */
export function countHandlers(app: Pick<App, 'decorate' | 'addHook'>): void {
  const inFlight = new InFlight();
  app.decorate('inFlight', inFlight);
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function countedHandler(request, reply) {
      if (inFlight.isClosed) throw stopping();
      const result: unknown = handler.call(this, request, reply);
      if (result instanceof Promise) inFlight.add(result);
      return result;
    };
  });
}

/** Bounds of a drain, in milliseconds. */
export interface DrainBounds {
  /** Time that running requests have to complete. */
  drainMs: number;
  /** Time that aborted requests have to settle. */
  abortMs: number;
}

/**
 * Shuts the API down: rejects new requests, waits until every handler has settled (including those of disconnected
 * clients), and aborts requests that still run after `drainMs`. Afterwards no handler starts, so their dependencies can
 * be closed.
 */
export async function drain(app: App, logger: Logger, { drainMs, abortMs }: DrainBounds): Promise<void> {
  const settled = app.close().then(() => app.inFlight.settled());
  if (!(await settlesWithin(settled, drainMs))) {
    // Aborts the `disconnectSignal` of every running request. Node's server has no list of WebSockets.
    app.server.closeAllConnections();
    app.webSockets.terminate();
    if (!(await settlesWithin(settled, abortMs))) {
      logger.error({ requests: app.inFlight.count }, 'requests did not end after they were aborted');
    }
  }
  app.inFlight.close();
}

async function settlesWithin(work: Promise<void>, milliseconds: number): Promise<boolean> {
  const done = new AbortController();
  const timeout = delay(milliseconds, false, { signal: done.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    done.abort();
  }
}
