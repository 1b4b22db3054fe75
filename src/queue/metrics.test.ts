import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { openTestDatabase } from '../../test/database.ts';
import { until } from '../../test/spawned-service.ts';
import type { Database } from '../db/db.ts';
import { registerPoolMetrics } from '../db/metrics.ts';
import { registerLeaseMetrics } from '../leases/metrics.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { createLogger } from '../lib/logger.ts';
import { defineJob } from './define-job.ts';
import { JobQueue } from './job-queue.ts';
import { registerQueueMetrics } from './metrics.ts';

const logger = createLogger('silent');
const JOB = defineJob<{ n: number }>({ name: 'metered', concurrency: 1, retries: 1, retrySeconds: 600 });
const IDLE = defineJob<{ n: number }>({ name: 'idle', concurrency: 1, retries: 0, retrySeconds: 0 });

describe('metrics of the job queue', () => {
  let db: Database;
  let lease: ProcessLease;
  let queue: JobQueue;
  before(async () => {
    db = await openTestDatabase();
    lease = await new ProcessLease({ db, logger }).start();
    queue = await JobQueue.open({ db, lease, logger });
    await queue.define([JOB, IDLE]);
  });
  after(async () => {
    await queue.stop();
    await lease.stop();
    await db.close();
  });

  /** The samples of a new registry, without the cache of an earlier scrape. */
  const scrape = async (): Promise<string[]> => {
    const registry = new Registry();
    registerQueueMetrics(registry, db);
    return (await registry.metrics()).split('\n');
  };
  const enqueue = (n: number) => queue.enqueue(db.sql, JOB, { n }, { key: `${n}` });

  it('count waiting, delayed and running jobs of each kind, and the age of the oldest waiting one', async () => {
    for (const n of [1, 2, 3]) await enqueue(n);
    await db.execute(
      "update pgboss.job set created_on = now() - interval '90 s', start_after = now() - interval '90 s' where data ->> 'n' = '3'",
    );
    const waiting = await scrape();
    assert.ok(waiting.includes('quire_jobs{queue="metered",state="waiting"} 3'), waiting.join('\n'));
    const age = waiting.find((line) => line.startsWith('quire_job_wait_seconds{queue="metered"}'));
    assert.ok(Number(age?.split(' ')[1]) >= 90, age);
    for (const state of ['waiting', 'delayed', 'running'])
      assert.ok(waiting.includes(`quire_jobs{queue="idle",state="${state}"} 0`));
    assert.ok(waiting.includes('quire_job_wait_seconds{queue="idle"} 0'));
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    queue.work(JOB, async ({ n }) => {
      if (n === 3) throw new Error('failed');
      await isReleased;
    });
    const states = ['waiting} 1', 'delayed} 1', 'running} 1'].map((end) => end.replace('}', '"}'));
    await until(async () => {
      const lines = await scrape();
      return states.every((state) => lines.includes(`quire_jobs{queue="metered",state="${state}`));
    });
    release();
    await until(async () => (await scrape()).includes('quire_jobs{queue="metered",state="running"} 0'));
  });

  it('are absent without the database, beside the metrics of the process', async () => {
    const closed = await openTestDatabase();
    await closed.close();
    const registry = new Registry();
    registerQueueMetrics(registry, closed);
    registerPoolMetrics(registry, closed);
    registerLeaseMetrics(registry, lease);
    const text = await registry.metrics();
    assert.doesNotMatch(text, /^quire_jobs\{/m);
    assert.match(text, /^quire_lease_held 1$/m);
    assert.match(text, /^quire_lease_losses_total 0$/m);
    assert.match(text, /^quire_database_connections\{state="busy"\} 0$/m);
  });

  it('count connections in use and what waits for one', async () => {
    const registry = new Registry();
    registerPoolMetrics(registry, db);
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    // One organization may use five of ten connections.
    const transactions = Array.from({ length: 7 }, () => db.sql.transaction(() => isReleased));
    const scrapePool = async () => (await registry.metrics()).split('\n');
    const expected = ['quire_database_connections{state="busy"} 5', 'quire_database_waiting 2'];
    await until(async () => {
      const lines = await scrapePool();
      return expected.every((line) => lines.includes(line));
    });
    release();
    await Promise.all(transactions);
    const lines = await scrapePool();
    assert.ok(lines.includes('quire_database_waiting 0') && lines.includes('quire_database_connections_max 10'));
  });
});
