import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { respondToClientError } from './client-error.ts';

/** Simulates a connection with a parser error. */
function after(code: string, socket: { writable?: boolean; bytesWritten?: number } = {}) {
  const seen = { isDestroyed: false, sent: '' };
  const played = {
    writable: true,
    bytesWritten: 0,
    destroy: () => {
      seen.isDestroyed = true;
    },
    end: (text: string) => {
      seen.sent = text;
    },
    ...socket,
  };
  respondToClientError(Object.assign(new Error('parse error'), { code }), played as unknown as Socket);
  return seen;
}

describe('HTTP parser errors', () => {
  for (const [code, status, ours] of [
    ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large', 'headers_too_large'],
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', 'request_timeout'],
    ['HPE_INVALID_METHOD', '400 Bad Request', 'invalid_value'],
  ] as const) {
    it(`${code} is answered with ${status}, and the connection ends`, () => {
      const { sent, isDestroyed } = after(code);
      const [head = '', body = ''] = sent.split('\r\n\r\n');
      assert.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), head);
      assert.match(head, /\r\nx-request-id: req_\w+\r\nconnection: close$/);
      assert.match(head, new RegExp(`\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`));
      assert.equal(JSON.parse(body).error.code, ours);
      assert.equal(isDestroyed, false);
    });
  }

  it('closes the connection silently after a disconnect or a started response', () => {
    const silent = { isDestroyed: true, sent: '' };
    assert.deepEqual(after('ECONNRESET'), silent);
    assert.deepEqual(after('HPE_INVALID_METHOD', { writable: false }), silent);
    assert.deepEqual(after('HPE_INVALID_METHOD', { bytesWritten: 1 }), silent);
  });
});
