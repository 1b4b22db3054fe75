import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { App } from './app.ts';

/** Bodies up to this size are read and discarded, so that the connection can be reused. Larger ones are not read. */
const MAX_DROPPED_BYTES = 65_536;

/** Delay before closing, which would reset the connection before a client that still sends reads the response. */
const LINGER_MS = 1_000;

/**
 * Closes the connection after responding to a request whose body was not read: unknown path, wrong method, rejected
 * caller, route without a body, aborted upload. Sends `100 Continue` only to admitted requests.
 */
export function closeAfterUnreadBody(app: App): void {
  // Without a listener, Node sends `100 Continue` before admission.
  app.server.on('checkContinue', (request, response) => app.routing(request, response));
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.headers.expect !== undefined && takesBody(request)) reply.raw.writeContinue();
    done(null, payload);
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (!request.raw.complete && isLong(request.headers)) {
      reply.header('connection', 'close');
      lingerBeforeClose(request.raw);
    }
    done();
  });
}

/** Whether the route declares a body schema. Bodies of other routes are not read. */
export function takesBody(request: FastifyRequest): boolean {
  return request.routeOptions.schema?.body !== undefined;
}

/** Whether the route is open to clients without a key. */
export function needsNoKey(request: FastifyRequest): boolean {
  return request.routeOptions.config.scope === 'public';
}

/** Whether the body exceeds `MAX_DROPPED_BYTES`. The length of a chunked body is unknown. */
function isLong(headers: IncomingMessage['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MAX_DROPPED_BYTES;
}

/** Lingering close (RFC 9112, section 9.6): half-closes the connection after the response and destroys it later. */
function lingerBeforeClose(request: IncomingMessage): void {
  const { socket } = request;
  // After the response, Node drains the body of a request that was never read from. `read(0)` marks the request as
  // read.
  request.read(0);
  socket.destroySoon = () => {
    request.pause();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
