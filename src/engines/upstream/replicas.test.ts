import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createLogger } from '../../lib/logger.ts';
import { type Replica, Replicas } from './replicas.ts';
import { DEFAULT_TIMEOUTS } from './timeouts.ts';

/** A replica that never responds, with mocked timers and this value for random numbers. */
function setUp(t: TestContext, random: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => random);
  const probe = t.mock.fn(async () => {
    throw new Error('nobody is there');
  });
  const replicas = new Replicas({
    baseUrls: ['http://127.0.0.1:9/v1'],
    proxy: null,
    timeouts: DEFAULT_TIMEOUTS,
    logger: createLogger('silent'),
    probe,
  });
  t.after(() => replicas.close(new Error('the test has ended')));
  return { replicas, replica: replicas.all[0] as Replica, probes: () => probe.mock.callCount() };
}

describe('a replica that failed', () => {
  for (const [random, factor] of [
    [0, 0.75],
    [1, 1.25],
  ] as const) {
    it(`is probed after a second with exponential backoff, times ${factor} at random ${random}`, async (t) => {
      const { replicas, replica, probes } = setUp(t, random);
      replicas.failed(replica, 'status 503');
      for (const [looks, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
        t.mock.timers.tick(seconds * factor * 1000 - 1);
        assert.equal(probes(), looks, `${seconds} s`);
        t.mock.timers.tick(1);
        assert.equal(probes(), looks + 1);
        await new Promise(setImmediate);
      }
    });
  }

  it('is not probed once it responded, and restarts at a second', async (t) => {
    const { replicas, replica, probes } = setUp(t, 0.5);
    for (let failures = 0; failures < 3; failures += 1) replicas.failed(replica, 'status 503');
    replicas.succeeded(replica);
    assert.deepEqual([replica.failures, replica.ejectedAt], [0, null]);
    t.mock.timers.tick(60_000);
    assert.equal(probes(), 0);
    replicas.failed(replica, 'status 503');
    t.mock.timers.tick(1_000);
    assert.equal(probes(), 1);
  });
});
