import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { retry } from './retry.ts';

/** Fails the first attempts with the errors, which are numbered, and records when each attempt starts. */
function failing(t: TestContext, failures: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let clockMs = 0;
  t.mock.method(performance, 'now', () => clockMs);
  const startedMs: number[] = [];
  const call = async (retries: number) => {
    startedMs.push(clockMs);
    assert.equal(retries, startedMs.length - 1);
    if (retries < failures) throw new Error(`${retries}`);
    return 'done';
  };
  /** Lets the time pass until the promise is settled. */
  const settle = async <T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> => {
    const settled = Promise.allSettled([promise]);
    let isSettled = false;
    void settled.then(() => {
      isSettled = true;
    });
    for (; !isSettled; clockMs += 1) {
      await new Promise(setImmediate);
      if (!isSettled) t.mock.timers.tick(1);
    }
    return (await settled)[0];
  };
  return { call, startedMs, settle };
}

const outcome = (result: PromiseSettledResult<string>) =>
  result.status === 'fulfilled' ? result.value : (result.reason as Error).message;

describe('retry', () => {
  for (const { name, policy, failures, starts, ends } of [
    { name: 'waits the delays', policy: { delaysMs: [10, 30] }, failures: 2, starts: [0, 10, 40], ends: 'done' },
    { name: 'throws the last error', policy: { delaysMs: [10, 30] }, failures: 3, starts: [0, 10, 40], ends: '2' },
    { name: 'makes one attempt without delays', policy: { delaysMs: [] }, failures: 1, starts: [0], ends: '0' },
    {
      name: 'repeats the last delay within the budget',
      policy: { delaysMs: [10, 20], budgetMs: 50 },
      failures: 9,
      starts: [0, 10, 30, 50, 70],
      ends: '4',
    },
    {
      name: 'throws an error that is not passing',
      policy: { delaysMs: [10, 10], isPassing: (error: unknown) => (error as Error).message === '0' },
      failures: 2,
      starts: [0, 10],
      ends: '1',
    },
    {
      name: 'waits as long as the service demands',
      policy: {
        delaysMs: [10, 10],
        maxRetryAfterMs: 40,
        retryAfterMs: ({ message }: Error) => (message === '0' ? 40 : null),
      },
      failures: 2,
      starts: [0, 40, 50],
      ends: 'done',
    },
    {
      name: 'does not wait longer than the limit',
      policy: { delaysMs: [10, 10], maxRetryAfterMs: 40, retryAfterMs: () => 41 },
      failures: 2,
      starts: [0],
      ends: '0',
    },
    {
      name: 'counts attempts, whatever the service demands',
      policy: { delaysMs: [10], retryAfterMs: () => 0 },
      failures: 2,
      starts: [0, 0],
      ends: '1',
    },
    {
      name: 'multiplies the delays by a random factor within the jitter',
      policy: { delaysMs: [20, 40], jitter: [0.5, 4.5] },
      failures: 2,
      starts: [0, 30, 90],
      ends: 'done',
    },
    {
      name: 'passes the delay with its jitter to the demand',
      policy: { delaysMs: [20], jitter: [1, 3], retryAfterMs: (_error: unknown, delayMs: number) => 20 + delayMs },
      failures: 1,
      starts: [0, 50],
      ends: 'done',
    },
  ])
    it(name, async (t) => {
      const { call, startedMs, settle } = failing(t, failures);
      t.mock.method(Math, 'random', () => 0.25);
      const retried: number[] = [];
      const options = { ...policy, onRetry: (_error: unknown, retries: number) => void retried.push(retries) };
      assert.equal(outcome(await settle(retry(call, options as Parameters<typeof retry>[1]))), ends);
      assert.deepEqual(
        startedMs.map((startMs) => Math.floor(startMs / 10) * 10),
        starts,
      );
      assert.deepEqual(
        retried,
        starts.slice(1).map((_, retries) => retries),
      );
    });

  it('begins again with the delays after an attempt that made progress', async () => {
    let attempts = 0;
    const delays: [retries: number, delayMs: number][] = [];
    const fail = () => {
      attempts += 1;
      return Promise.reject(new Error(`${attempts}`));
    };
    const policy = {
      delaysMs: [1, 2],
      hasProgressed: () => attempts === 3,
      onRetry: (_error: unknown, retries: number, delayMs: number) => void delays.push([retries, delayMs]),
    };
    await assert.rejects(retry(fail, policy), new Error('5'));
    assert.deepEqual(delays, [
      [0, 1],
      [1, 2],
      [0, 1],
      [1, 2],
    ]);
  });

  it('throws the reason of its signal, during a wait and instead of the error of an attempt', async () => {
    const waiting = new AbortController();
    const reason = new Error('stopped');
    const fail = () => Promise.reject(new Error('fault'));
    const onRetry = () => void setImmediate(() => waiting.abort(reason));
    await assert.rejects(retry(fail, { delaysMs: [600_000], onRetry, signal: waiting.signal }), reason);
    await assert.rejects(retry(fail, { delaysMs: [], signal: AbortSignal.abort(reason) }), reason);
  });
});
