import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { engineUnavailable, idempotencyConflict, invalidApiKey } from '../errors.ts';
import { asApiError, errorHeaders } from './error-handler.ts';

const request = { method: 'POST', url: '/v1/x', headers: { 'content-type': 'text/plain' } } as FastifyRequest;
const mapped = (error: object) => {
  const { status, code, param } = asApiError(error, request, 1024);
  return [status, code, param];
};

describe('asApiError', () => {
  it("maps Fastify's errors to the catalogue", () => {
    const of = (code: string) => mapped({ code });
    assert.deepEqual(of('FST_ERR_CTP_BODY_TOO_LARGE'), [413, 'request_too_large', null]);
    assert.deepEqual(of('FST_ERR_CTP_INVALID_MEDIA_TYPE'), [415, 'unsupported_media_type', null]);
    assert.deepEqual(of('FST_ERR_CTP_INVALID_TYPE'), [415, 'unsupported_media_type', null]);
    assert.deepEqual(of('FST_ERR_CTP_INVALID_CONTENT_LENGTH'), [400, 'invalid_value', 'content-length']);
    assert.deepEqual(of('FST_ERR_BAD_URL'), [404, 'unknown_url', null]);
    assert.deepEqual(of('FST_ERR_MAX_PARAM_LENGTH'), [404, 'unknown_url', null]);
  });

  it('maps plugin errors by their status, and other errors to 500', () => {
    for (const statusCode of [403, 404]) assert.deepEqual(mapped({ statusCode }), [404, 'unknown_url', null]);
    for (const error of [{ statusCode: 400 }, new Error('fault')]) {
      assert.deepEqual(mapped(error), [500, 'server_error', null]);
    }
  });

  it('returns an error of the catalogue unchanged', () => {
    const error = invalidApiKey('no');
    assert.equal(asApiError(error, request, 1024), error);
  });
});

describe('errorHeaders', () => {
  it('set Retry-After, and disable retries of conflicts and long waits', () => {
    const wait = (seconds: number) => errorHeaders(engineUnavailable('Not now.', seconds));
    assert.deepEqual(wait(60), { 'retry-after': '60' });
    assert.deepEqual(wait(61), { 'retry-after': '61', 'x-should-retry': 'false' });
    assert.deepEqual(errorHeaders(idempotencyConflict('It runs.')), { 'x-should-retry': 'false' });
    assert.deepEqual(errorHeaders(invalidApiKey('no'))['retry-after'], undefined);
  });
});
