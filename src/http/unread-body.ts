import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { App } from './app.ts';

/** A body of this size is read and dropped, so that its connection can be used again; a larger one is not read. */
const MAX_DROPPED_BYTES = 65_536;

/** A client that is still sending reads the response within this time; closing at once would reset the connection first. */
const LINGER_MS = 1_000;

/**
 * Closes the connection after a response to a request whose body was not read: unknown path, wrong method, caller not
 * admitted, route without a body, upload rejected midway. Sends `100 Continue` only to requests that are admitted.
 */
export function closeAfterUnreadBody(app: App): void {
  // Node answers `Expect: 100-continue` by itself unless somebody listens.
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

/** Whether the route declares a body. The body of any other route is not read. */
export function takesBody(request: FastifyRequest): boolean {
  return request.routeOptions.schema?.body !== undefined;
}

/** The length of a chunked body is unknown. */
function isLong(headers: IncomingMessage['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MAX_DROPPED_BYTES;
}

/** Replaces Node's close after the response (RFC 9112, section 9.6): ends our side, and resets the connection later. */
function lingerBeforeClose(request: IncomingMessage): void {
  const { socket } = request;
  // Node reads the body of a request to its end after the response, unless the request was read from.
  request.read(0);
  socket.destroySoon = () => {
    request.pause();
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
