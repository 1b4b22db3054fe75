import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorFrameStatus, parseUpstreamError } from './error-mapping.ts';

describe('the status of an error frame', () => {
  it('is its code from 400 to 599, a number or three digits', () => {
    const reported = [400, '429', 503, 599].map((code) => errorFrameStatus({ code }));
    assert.deepEqual(reported, [400, 429, 503, 599]);
    assert.deepEqual(
      [errorFrameStatus({ http_status_code: 404, code: 500 }), errorFrameStatus({ status: 404 })],
      [404, 404],
    );
  });

  it("is 400 for what is the caller's fault by its type or code, otherwise 500", () => {
    assert.equal(errorFrameStatus({ type: 'invalid_request_error' }), 400);
    assert.equal(errorFrameStatus({ code: 'context_length_exceeded' }), 400);
    for (const code of [399, 600, '5000', 'rate_limited', null]) assert.equal(errorFrameStatus({ code }), 500);
    assert.equal(errorFrameStatus('broken'), 500);
  });
});

describe('the wait that an error response demands', () => {
  it('is at most an hour', () => {
    const waits = ['3', '3600', '3601', 'soon', null].map(
      (header) => parseUpstreamError(503, '{}', header).retryAfterSeconds,
    );
    assert.deepEqual(waits, [3, 3600, 3600, null, null]);
  });
});
