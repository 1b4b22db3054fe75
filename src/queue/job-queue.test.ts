import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, mock } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import type { Database } from '../db/db.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { createLogger } from '../lib/logger.ts';
import { withTraceHeaders } from '../lib/trace-headers.ts';
import { defineJob, type JobKind } from './define-job.ts';
import { JobQueue } from './job-queue.ts';

const defineKind = (
  name: string,
  wanted: Partial<Pick<JobKind<object>, 'concurrency' | 'perGroup' | 'retries' | 'retrySeconds'>> = {},
) => defineJob<{ n: number }>({ name, concurrency: 1, retries: 2, retrySeconds: 0, ...wanted });

const KINDS = {
  committed: defineKind('committed'),
  'rolled-back': defineKind('rolled-back'),
  failing: defineKind('failing', { retries: 1 }),
  keyed: defineKind('keyed', { concurrency: 3 }),
  held: defineKind('held', { concurrency: 2 }),
  stopped: defineKind('stopped'),
  lost: defineKind('lost'),
  'taken-over': defineKind('taken-over'),
  'killed-often': defineKind('killed-often', { concurrency: 2, retries: 100, retrySeconds: 2 }),
  'at-once': defineKind('at-once', { concurrency: 2 }),
  grouped: defineKind('grouped', { concurrency: 3, perGroup: 1 }),
  busy: defineKind('busy', { concurrency: 2 }),
  delayed: defineKind('delayed'),
};

/** Resolves after `count` calls. */
function counted(count: number): { done: Promise<void>; call: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return {
    done: promise,
    call: () => {
      left -= 1;
      if (left === 0) resolve();
    },
  };
}

describe('JobQueue', () => {
  let db: Database;
  let queue: JobQueue;
  let lease: ProcessLease;
  const logger = createLogger('silent');
  before(async () => {
    db = await openTestDatabase();
    lease = await new ProcessLease({ db, logger }).start();
  });
  after(async () => {
    await queue.stop();
    await lease.stop();
    await db.close();
  });
  beforeEach(async () => {
    await queue?.stop();
    queue = await JobQueue.open({ db, lease, logger });
    await queue.define(Object.values(KINDS));
  });

  it('runs a job after its transaction commits, not before', async () => {
    const kind = KINDS['committed'];
    const { done, call } = counted(1);
    const ran: number[] = [];
    queue.work(kind, async ({ n }) => {
      ran.push(n);
      call();
    });
    await db.sql.transaction(async (sql) => {
      await queue.enqueue(sql, kind, { n: 7 }, { key: 'a' });
      assert.deepEqual(ran, []);
    });
    await done;
    assert.deepEqual(ran, [7]);
  });

  it('drops a job whose transaction is rolled back', async () => {
    const kind = KINDS['rolled-back'];
    const rolledBack = db.sql.transaction(async (sql) => {
      await queue.enqueue(sql, kind, { n: 1 }, { key: 'a' });
      throw new Error('no');
    });
    await assert.rejects(rolledBack, /no/);
    const { done, call } = counted(1);
    const ran: number[] = [];
    await queue.enqueue(db.sql, kind, { n: 2 }, { key: 'a' });
    queue.work(kind, async ({ n }) => {
      ran.push(n);
      call();
    });
    await done;
    assert.deepEqual(ran, [2]);
  });

  it('retries a failed job up to the limit of its kind', async () => {
    const kind = KINDS['failing'];
    const { done, call } = counted(3);
    const ran: number[] = [];
    queue.work(kind, async ({ n }) => {
      ran.push(n);
      call();
      if (n === 1) throw new Error('never works');
    });
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: 'a' });
    await queue.enqueue(db.sql, kind, { n: 2 }, { key: 'b' });
    await done;
    assert.deepEqual(ran.sort(), [1, 1, 2]);
  });

  it('runs jobs of one key one at a time, and loses none enqueued during a run', async () => {
    const kind = KINDS['keyed'];
    const { done, call } = counted(2);
    let running = 0;
    let most = 0;
    queue.work(kind, async ({ n }) => {
      running += 1;
      most = Math.max(most, running);
      if (n === 1) await queue.enqueue(db.sql, kind, { n: 2 }, { key: 'a' });
      await new Promise((resolve) => setTimeout(resolve, 30));
      running -= 1;
      call();
    });
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: 'a' });
    await done;
    assert.equal(most, 1);
  });

  it('a busy key does not block other keys', async () => {
    const kind = KINDS['held'];
    const { done, call } = counted(3);
    const other = Promise.withResolvers<void>();
    queue.work(kind, async ({ n }) => {
      if (n === 1) {
        await queue.enqueue(db.sql, kind, { n: 2 }, { key: 'a' });
        await queue.enqueue(db.sql, kind, { n: 3 }, { key: 'b' });
        await other.promise;
      }
      if (n === 3) other.resolve();
      call();
    });
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: 'a' });
    await done;
  });

  it('aborts a running job at shutdown and returns it to the queue', async () => {
    const kind = KINDS['stopped'];
    const started = counted(1);
    queue.work(kind, async (_job, signal) => {
      started.call();
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await queue.enqueue(db.sql, kind, { n: 3 }, { key: 'a' });
    await started.done;
    await queue.stop();
    queue = await JobQueue.open({ db, lease, logger });
    await queue.define(Object.values(KINDS));
    const { done, call } = counted(1);
    queue.work(kind, async ({ n }) => {
      assert.equal(n, 3);
      call();
    });
    await done;
  });

  it('aborts a job whose lease is lost, and leaves it to the process that takes it over', async () => {
    const kind = KINDS['lost'];
    const started = counted(1);
    const left = counted(1);
    queue.work(kind, async (_job, signal) => {
      started.call();
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: 'a' });
    await started.done;
    const now = performance.now.bind(performance);
    // Simulates a suspension of the process.
    mock.method(performance, 'now', () => now() + 60_000);
    mock.method(logger, 'warn', left.call);
    await left.done;
    mock.restoreAll();
    const { rows } = await db.execute("select state from pgboss.job where name = 'lost'");
    assert.deepEqual(rows, [{ state: 'active' }]);
  });

  it('runs a job at once whose process was killed or stopped, after many runs too; the backoff of failures stays', async () => {
    const kind = KINDS['killed-often'];
    for (const key of ['killed', 'failed'])
      await db.sql.transaction((sql) => queue.enqueue(sql, kind, { n: key === 'killed' ? 1 : 2 }, { key }));
    // The ninth run of the first job ended with its process a minute ago; that of the second one failed.
    await db.execute(`
      update pgboss.job set state = 'active', retry_count = 9, started_on = now(), heartbeat_on = now() - interval '1 minute'
      where name = 'killed-often' and singleton_key = 'killed'`);
    await db.execute(`
      update pgboss.job set state = 'retry', retry_count = 9, start_after = now() + interval '5 minutes', output = '{"reason": "no"}'
      where name = 'killed-often' and singleton_key = 'failed'`);
    const ran: number[] = [];
    const { done, call } = counted(1);
    queue.work(kind, async ({ n }, signal) => {
      ran.push(n);
      call();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await done;
    await queue.stop();
    const { rows } = await db.execute(`
      select data->>'n' as n, state, start_after <= now() as is_due from pgboss.job where name = 'killed-often' order by 1`);
    assert.deepEqual(ran, [1]);
    assert.deepEqual(rows, [
      { n: '1', state: 'retry', is_due: true },
      { n: '2', state: 'retry', is_due: false },
    ]);
  });

  it('neither completes nor fails a job that another process has taken over', async () => {
    const kind = KINDS['taken-over'];
    const left = counted(2);
    mock.method(logger, 'warn', left.call);
    queue.work(kind, async ({ n }) => {
      // As a fetch does after the lease has expired, while this process is suspended.
      await db.execute(
        `update pgboss.job set retry_count = retry_count + 1 where name = 'taken-over' and data->>'n' = '${n}'`,
      );
      if (n === 1) throw new Error('the connection was lost');
    });
    for (const n of [1, 2]) await queue.enqueue(db.sql, kind, { n }, { key: String(n) });
    await left.done;
    mock.restoreAll();
    const { rows } = await db.execute("select state from pgboss.job where name = 'taken-over'");
    assert.deepEqual(rows, [{ state: 'active' }, { state: 'active' }]);
  });

  it('runs as many jobs of a kind at a time as it allows, and no more', async () => {
    const kind = KINDS['at-once'];
    const both = counted(2);
    const { done, call } = counted(6);
    let running = 0;
    let most = 0;
    queue.work(kind, async () => {
      running += 1;
      most = Math.max(most, running);
      both.call();
      await both.done;
      // The queue fetches a third job, if it may, before these statements have ended.
      for (let statement = 0; statement < 5; statement += 1) await db.execute('select 1');
      running -= 1;
      call();
    });
    await db.sql.transaction(async (sql) => {
      for (let n = 0; n < 6; n += 1) await queue.enqueue(sql, kind, { n }, { key: String(n) });
    });
    await done;
    assert.equal(most, 2);
  });

  it('limits the slots of one group', async () => {
    const kind = KINDS['grouped'];
    const ran: number[] = [];
    const gone = counted(4);
    const other = Promise.withResolvers<void>();
    queue.work(kind, async ({ n }) => {
      ran.push(n);
      if (n === 9) other.resolve();
      else await other.promise;
      gone.call();
    });
    for (const n of [1, 2, 3]) await queue.enqueue(db.sql, kind, { n }, { key: String(n), group: 'many' });
    await queue.enqueue(db.sql, kind, { n: 9 }, { key: '9', group: 'few' });
    await gone.done;
    assert.deepEqual(ran.toSorted(), [1, 2, 3, 9]);
    // The order is undefined: all may have been created in the same millisecond.
    assert.ok(ran.indexOf(9) <= 1, ran.join());
  });

  it('leaves the jobs of busy groups to other processes, until it is woken', async () => {
    const kind = KINDS['busy'];
    const ran: number[] = [];
    const [free, all] = [counted(1), counted(2)];
    const busy = ['a'];
    const run = async ({ n }: { n: number }) => {
      ran.push(n);
      free.call();
      all.call();
    };
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: '1', group: 'a' });
    await queue.enqueue(db.sql, kind, { n: 2 }, { key: '2', group: 'b' });
    queue.work(kind, run, () => busy);
    await free.done;
    assert.deepEqual(ran, [2]);
    busy.pop();
    queue.wake(kind);
    await all.done;
    assert.deepEqual(ran, [2, 1]);
    queue.wake(KINDS['keyed']);
  });

  it('runs a delayed job after its delay', async () => {
    const kind = KINDS['delayed'];
    await queue.enqueue(db.sql, kind, { n: 1 }, { key: '1', delaySeconds: 3_600 });
    await queue.enqueue(db.sql, kind, { n: 2 }, { key: '2' });
    const ran: number[] = [];
    const [first, both] = [counted(1), counted(2)];
    queue.work(kind, async ({ n }) => {
      ran.push(n);
      first.call();
      both.call();
    });
    await first.done;
    await db.execute("update pgboss.job set start_after = start_after - interval '1 hour' where name = 'delayed'");
    queue.wake(kind);
    await both.done;
    assert.deepEqual(ran, [2, 1]);
  });

  it('stores the trace context of the request that enqueues a job', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    queue.work(KINDS['committed'], async (data) => resolve(data));
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await withTraceHeaders({ traceparent }, () =>
      queue.enqueue(db.sql, KINDS['committed'], { n: 1 }, { key: 'traced' }),
    );
    assert.deepEqual(await promise, { n: 1, traceparent });
  });
});
