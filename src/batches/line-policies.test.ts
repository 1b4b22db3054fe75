import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineUnavailable, invalidValue, rateLimitExceeded, serverError } from '../errors.ts';
import { LINE_RETRY } from './line-retry.ts';

describe('LINE_RETRY', () => {
  const attempts = (error: unknown) => {
    for (let retries = 0; ; retries += 1) if (!LINE_RETRY.isPassing(error, retries)) return retries + 1;
  };

  it('gives 10 attempts to an unavailable or limited engine, 3 to an internal error, 1 to an invalid line', () => {
    assert.equal(attempts(engineUnavailable('It is away.', 1)), 10);
    assert.equal(attempts(rateLimitExceeded('Too many requests.', 1)), 10);
    assert.equal(attempts(serverError()), 3);
    assert.equal(attempts(invalidValue('model', 'is wrong')), 1);
    assert.equal(attempts(new Error('the process stops')), 1);
  });

  it('waits a random share of the doubled backoff above Retry-After, up to a minute', () => {
    assert.equal(LINE_RETRY.delaysMs.length, 9);
    assert.deepEqual(LINE_RETRY.jitter, [0, 1]);
    const error = engineUnavailable('It is away.', 2);
    assert.deepEqual(
      [0, 250, 30_000, 59_000].map((delayMs) => LINE_RETRY.retryAfterMs(error, delayMs)),
      [2_000, 2_250, 32_000, 60_000],
    );
    assert.equal(LINE_RETRY.retryAfterMs(serverError(), 250), 250);
  });
});
