import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { JobLease } from './job-lease.ts';

describe('JobLease', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    mock.timers.enable({ apis: ['setInterval'] });
    mock.method(performance, 'now', () => now);
  });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });

  /** Advances the clock second by second. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      now += 1_000;
      mock.timers.tick(1_000);
      await new Promise(setImmediate);
    }
  };

  it('is renewed three times in its time, and held as long as that works', async () => {
    let renewals = 0;
    const lease = new JobLease(30, async () => {
      renewals += 1;
      return true;
    });
    await pass(300);
    assert.deepEqual([renewals, lease.lost.aborted], [30, false]);
    lease.end();
    await pass(300);
    assert.deepEqual([renewals, lease.lost.aborted], [30, false]);
  });

  it('is lost before another process may run the job: when it cannot be renewed, and at once after a suspension', async () => {
    const failing = new JobLease(30, () => Promise.reject(new Error('no database')));
    await pass(23);
    assert.equal(failing.lost.aborted, false);
    await pass(1);
    assert.equal(failing.lost.aborted, true);

    const suspended = new JobLease(30, async () => true);
    await pass(5);
    now += 3_600_000;
    mock.timers.tick(1_000);
    assert.equal(suspended.lost.aborted, true);
  });

  it('is lost when the job is not running any more', async () => {
    const lease = new JobLease(30, async () => false);
    await pass(10);
    assert.equal(lease.lost.aborted, true);
  });
});
