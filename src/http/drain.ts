import { Server } from 'node:net';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
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
    /**
     * `hasBegun`: the stop was requested; the process still accepts connections until the drain delay has passed.
     * `isClosing`: the listener is closed, and the next response closes each keep-alive connection.
     */
    shutdown: { hasBegun: boolean; isClosing: boolean };
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
  app.decorate('shutdown', { hasBegun: false, isClosing: false });
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

/**
 * Maximum time that a stopping process waits for new connections to pause and for requests on keep-alive connections.
 */
const MAX_BACKLOG_MS = 1_000;

/** Bounds of a drain, in milliseconds. */
export interface DrainBounds {
  /** Time before new connections are rejected, in which load balancers see that `/readyz` answers 503. */
  delayMs: number;
  /** Time that running requests have to complete. */
  drainMs: number;
  /** Time that aborted requests have to settle. */
  abortMs: number;
}

/**
 * Shuts the API down: reports the process as not ready, rejects new requests after `delayMs`, waits until every handler
 * has settled, also when its client has disconnected, and aborts requests that still run after `drainMs`. Afterwards no
 * handler starts, so their dependencies can be closed.
 */
export async function drain(app: App, logger: Logger, { delayMs, drainMs, abortMs }: DrainBounds): Promise<void> {
  app.shutdown.hasBegun = true;
  await delay(delayMs);
  await acceptBacklog(app);
  app.shutdown.isClosing = true;
  const closed = closeListener(app);
  await Promise.race([closed, delay(Math.min(delayMs, MAX_BACKLOG_MS))]);
  const settled = Promise.all([closed, app.close()]).then(() => app.inFlight.settled());
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

/**
 * Closes the listener but not idle connections, because a proxy may still send requests on them until it notices that
 * the listener is closed. Resolves when all connections are closed.
 */
function closeListener({ server }: Pick<App, 'server'>): Promise<unknown> {
  // `close` of the HTTP server would also close idle connections.
  return new Promise((resolve) => Server.prototype.close.call(server, resolve));
}

/**
 * Resolves after a turn of the event loop in which no connection arrived, or after `MAX_BACKLOG_MS`. Closing the
 * listener resets connections that wait to be accepted, and a proxy that has sent a request on one reports an error.
 */
async function acceptBacklog({ server }: Pick<App, 'server'>): Promise<void> {
  const endMs = performance.now() + MAX_BACKLOG_MS;
  let hasAccepted: boolean;
  const onConnection = () => {
    hasAccepted = true;
  };
  server.on('connection', onConnection);
  do {
    hasAccepted = false;
    await setImmediate();
  } while (hasAccepted && performance.now() < endMs);
  server.off('connection', onConnection);
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
