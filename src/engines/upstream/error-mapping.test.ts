import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorFrameStatus, parseRetryAfter } from './error-mapping.ts';

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

describe('parseRetryAfter', () => {
  it('is its seconds or the time until its date, from 0 to an hour', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 2) });
    assert.deepEqual(['3', '0', '-5', '3600', '3601'].map(parseRetryAfter), [3, 0, 0, 3600, 3600]);
    assert.equal(parseRetryAfter('Fri, 02 Jan 2026 00:00:07 GMT'), 7);
    assert.equal(parseRetryAfter('Thu, 01 Jan 2026 00:00:00 GMT'), 0);
  });

  it('is null for a missing or invalid header', () => {
    for (const header of [null, '', ' ', 'soon']) assert.equal(parseRetryAfter(header), null);
  });
});
