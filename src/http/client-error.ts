import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type ApiError, headersTooLarge, invalidValue, requestTimeout } from '../errors.ts';
import { newId } from '../lib/ids.ts';

/** Connections of requests that limit the time of their body themselves, instead of the timeout of the server. */
const ownTimeouts = new WeakSet<Socket>();

/** Exempts the current request of a connection from the request timeout. Returns a function that ends the exemption. */
export function exemptFromRequestTimeout(socket: Socket): () => void {
  ownTimeouts.add(socket);
  return () => ownTimeouts.delete(socket);
}

/**
 * Responds to errors of Node's HTTP parser, before a request object exists: headers too large, request timeout,
 * malformed HTTP. Closes the connection.
 */
export function respondToClientError(error: Error & { code?: string }, socket: Socket): void {
  // Node reports each request once, and leaves the connection to this handler.
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && ownTimeouts.has(socket)) return;
  // The client is gone, or a response has started and more bytes would corrupt it.
  if (!socket.writable || socket.bytesWritten > 0 || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const apiError = mapParserError(error.code);
  const body = JSON.stringify(apiError.body());
  const head = [
    `HTTP/1.1 ${apiError.status} ${STATUS_CODES[apiError.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId('request')}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function mapParserError(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout();
  return invalidValue('request', 'is not valid HTTP');
}
