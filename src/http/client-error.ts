import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type ApiError, headersTooLarge, invalidValue, requestTimeout } from '../errors.ts';
import { newId } from '../lib/ids.ts';

/**
 * Responds to errors of Node's HTTP parser, before a request object exists: headers too large, request timeout, malformed
 * HTTP. Closes the connection.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  // The client is gone, or a response has started and more bytes would corrupt it.
  if (!socket.writable || socket.bytesWritten > 0 || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const found = catalogued(error.code);
  const body = JSON.stringify(found.body());
  const head = [
    `HTTP/1.1 ${found.status} ${STATUS_CODES[found.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId('request')}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function catalogued(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout();
  return invalidValue('request', 'is not valid HTTP');
}
