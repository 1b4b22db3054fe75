import { setTimeout as delay } from 'node:timers/promises';
import { engineUnavailable } from '../errors.ts';
import { InFlight } from '../lib/in-flight.ts';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Handlers that have not settled. A closed connection does not end its handler, so connections cannot be counted. */
    inFlight: InFlight;
  }
}

/** Retry hint while the process is stopping: another one takes its place within about this time. */
const STOPPING_RETRY_SECONDS = 5;

/** 503 for requests that reach a process which is shutting down. */
export function stopping() {
  return engineUnavailable('This server is stopping.', STOPPING_RETRY_SECONDS);
}

/** Counts the handlers of all routes that are added after this call. */
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
  /** How long running requests may go on. */
  drainMs: number;
  /** How long they may take to end once they are aborted. */
  abortMs: number;
}

/**
 * Shuts the API down: accepts nothing new, waits until every handler has settled, also those whose client has left, and
 * aborts what still runs after `drainMs`. Afterwards no handler begins, so what the handlers use can be closed.
 */
export async function drain(app: App, logger: Logger, { drainMs, abortMs }: DrainBounds): Promise<void> {
  const settled = app.close().then(() => app.inFlight.settled());
  if (!(await settlesWithin(settled, drainMs))) {
    // Aborts the signal of every call that runs (`disconnectSignal`).
    app.server.closeAllConnections();
    if (!(await settlesWithin(settled, abortMs))) {
      logger.error({ requests: app.inFlight.count }, 'requests did not end after they were aborted');
    }
  }
  app.inFlight.close();
}

async function settlesWithin(work: Promise<void>, milliseconds: number): Promise<boolean> {
  const done = new AbortController();
  const late = delay(milliseconds, false, { signal: done.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    done.abort();
  }
}
