import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineUnavailable, invalidValue, rateLimitExceeded, serverError } from '../errors.ts';
import { LinePermits } from './line-permits.ts';
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

describe('LinePermits', () => {
  const MB = 1_048_576;
  const never = new AbortController().signal;
  /** Starts a line that runs until it is released. Resolves once other work had a chance to run. */
  const start = (permits: LinePermits, weight: number, group = 'org') => {
    const gate = Promise.withResolvers<void>();
    const line = { isRunning: false, release: gate.resolve, ended: Promise.resolve() };
    line.ended = permits.within(group, weight, never, async () => {
      line.isRunning = true;
      await gate.promise;
    });
    return line;
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('bounds the weight of running lines, in order, and lets a heavier line run alone', async () => {
    const permits = new LinePermits(8);
    const [first, second, huge, small] = [40, 40, 100, 1].map((megabytes) => start(permits, megabytes * MB));
    await settle();
    const running = () => [first, second, huge, small].map((line) => line?.isRunning);
    assert.deepEqual(running(), [true, false, false, false]);
    first?.release();
    await first?.ended;
    await settle();
    assert.deepEqual(running(), [true, true, false, false], 'the weight was given back');
    second?.release();
    await second?.ended;
    await settle();
    assert.deepEqual(
      running(),
      [true, true, true, false],
      'nothing overtakes the heavy line, and nothing runs beside it',
    );
    huge?.release();
    await huge?.ended;
    await settle();
    assert.equal(small?.isRunning, true);
    small?.release();
    await small?.ended;
  });
});
