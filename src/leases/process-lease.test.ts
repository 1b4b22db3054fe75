import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { eq } from 'drizzle-orm';
import { openTestDatabase } from '../../test/database.ts';
import type { Database } from '../db/db.ts';
import { createLogger } from '../lib/logger.ts';
import { ProcessLease } from './process-lease.ts';
import { processes } from './tables.ts';

const logger = createLogger('silent');
let db: Database;
before(async () => {
  db = await openTestDatabase();
});
after(() => db.close());

describe('the lease of a process', () => {
  let now = 0;
  beforeEach(() => {
    now = 1_000_000;
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
  /** A lease whose heartbeats consist of `renewal`: no other process can use the database. */
  const start = (renewal: () => Promise<void>) => {
    const lease = new ProcessLease({ db: { ...db, isExclusive: true, startsAlone: true }, logger });
    lease.renewWith(renewal);
    return lease.start();
  };

  it('is renewed every five seconds, together with what renews with it, until it is stopped', async () => {
    let renewals = 0;
    const lease = await start(async () => {
      renewals += 1;
    });
    await pass(300);
    assert.deepEqual([renewals, lease.isHeld(), lease.lost.aborted], [61, true, false]);
    assert.equal(await db.sql.$count(processes, eq(processes.id, lease.id)), 1);
    await lease.stop();
    assert.equal(await db.sql.$count(processes, eq(processes.id, lease.id)), 0);
    await pass(20);
    assert.equal(renewals, 61);
  });

  it('is lost before others take over while heartbeats fail, and regained by the first that succeeds', async () => {
    let isDown = false;
    const lease = await start(async () => {
      if (isDown) throw new Error('no database');
    });
    let regained = 0;
    lease.onRegained(() => {
      regained += 1;
    });
    const { lost } = lease;
    isDown = true;
    await pass(23);
    assert.deepEqual([lost.aborted, lease.isHeld()], [false, true]);
    await pass(1);
    assert.deepEqual([lost.aborted, lease.isHeld()], [true, false]);
    await pass(100);
    assert.equal(regained, 0);
    isDown = false;
    await pass(1);
    assert.deepEqual([regained, lease.isHeld(), lease.lost.aborted, lost.aborted], [1, true, false, true]);
    await pass(100);
    assert.equal(regained, 1);
  });

  it('is lost at once after a suspension', async () => {
    const lease = await start(async () => {});
    const { lost } = lease;
    await pass(4);
    now += 3_600_000;
    assert.equal(lease.isHeld(), false, 'before any timer');
    mock.timers.tick(1_000);
    assert.equal(lost.aborted, true);
  });

  it('is not held when the heartbeat took longer than the lease', async () => {
    const lease = await start(async () => {
      now += 24_000;
    });
    assert.equal(lease.isHeld(), false);
  });
});

describe('leases of several processes', () => {
  const age = (lease: ProcessLease, seconds: number) =>
    db.execute(`update processes set renewed_at = now() - ${seconds} * interval '1 second' where id = '${lease.id}'`);

  it('are lost when the clock of the database says so, and end when another process starts', async () => {
    const [paused, other] = [new ProcessLease({ db, logger }), new ProcessLease({ db, logger })];
    let regained = 0;
    paused.onRegained(() => {
      regained += 1;
    });
    await paused.start();
    for (const { seconds, isLost } of [
      { seconds: 25, isLost: false },
      { seconds: 31, isLost: true },
    ]) {
      const { lost } = paused;
      await age(paused, seconds);
      await Promise.all([paused.beat(), paused.beat()]);
      assert.deepEqual([lost.aborted, regained], [isLost, isLost ? 1 : 0], `${seconds} s`);
    }
    await age(paused, 31);
    await other.start();
    assert.equal(await db.sql.$count(processes, eq(processes.id, paused.id)), 0);
    await paused.beat();
    assert.equal(regained, 2);
    await Promise.all([paused.stop(), other.stop()]);
  });

  it('of predecessors end at the start of the only process', async () => {
    const crashed = await new ProcessLease({ db: { ...db, isExclusive: true, startsAlone: true }, logger }).start();
    const next = await new ProcessLease({ db: { ...db, isExclusive: true, startsAlone: true }, logger }).start();
    const rows = await db.sql.select({ id: processes.id }).from(processes);
    assert.deepEqual(rows, [{ id: next.id }]);
    await Promise.all([crashed.stop(), next.stop()]);
  });
});
