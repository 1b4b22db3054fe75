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

describe('a check of several replicas', () => {
  const urls = ['http://127.0.0.1:9/v1', 'http://127.0.0.1:10/v1', 'http://127.0.0.1:11/v1'];
  const create = (t: TestContext, probe: (replica: Replica) => Promise<void>) => {
    const options = { baseUrls: urls, proxy: null, timeouts: DEFAULT_TIMEOUTS, logger: createLogger('silent') };
    const replicas = new Replicas({ ...options, probe });
    t.after(() => replicas.close(new Error('the test has ended')));
    return replicas;
  };
  const never = new AbortController().signal;

  it('passes when one responds although others hang or fail, and ejects the hanging one when its probe ends', async (t) => {
    const hanging = Promise.withResolvers<void>();
    let probes = 0;
    const replicas: Replicas = create(t, async (replica) => {
      probes += 1;
      const at = replicas.all.indexOf(replica);
      if (at === 0) return hanging.promise;
      if (at === 1) throw new Error('status 500');
    });
    await replicas.check(never);
    await replicas.check(never);
    // The second check joins the probe that hangs.
    assert.equal(probes, 5);
    assert.equal(replicas.states()[0]?.isHealthy, true);
    hanging.reject(new Error('no byte within 5 s'));
    await new Promise(setImmediate);
    assert.deepEqual(
      replicas.states().map(({ isHealthy, lastError }) => [isHealthy, lastError?.message]),
      [
        [false, 'no byte within 5 s'],
        [false, 'status 500'],
        [true, undefined],
      ],
    );
  });

  it('throws the error of the first when none responds, and the reason of its signal while all hang', async (t) => {
    const failing: Replicas = create(t, async (replica) => {
      throw new Error(`server ${failing.all.indexOf(replica)}`);
    });
    await assert.rejects(failing.check(never), /server 0/);
    const caller = new AbortController();
    const hanging = create(t, () => new Promise(() => {})).check(caller.signal);
    caller.abort(new Error('enough'));
    await assert.rejects(hanging, /enough/);
  });
});
