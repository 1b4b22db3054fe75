import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createDatabase, type TestDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { createLogger } from '../lib/logger.ts';
import type { Database } from './db.ts';
import { openPostgres } from './postgres.ts';

describe('locks between two processes on one database', () => {
  let database: TestDatabase;
  let processes: Database[];
  const open = () => openPostgres(database.url, createLogger('silent'));
  before(async () => {
    database = await createDatabase();
    processes = [await open(), await open()];
  });
  after(async () => {
    await Promise.all(processes.map((db) => db.close()));
    await database.drop();
  });

  it('run one task of a name at a time, of each process, and release the lock of one that throws', async () => {
    let running = 0;
    let most = 0;
    const task = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      throw new Error('task');
    };
    const tasks = processes.flatMap((db) => [1, 2, 3].map(() => db.withLock('one', task)));
    for (const { status } of await Promise.allSettled(tasks)) assert.equal(status, 'rejected');
    assert.equal(most, 1);
  });

  it('let tasks of other names run beside', async () => {
    const [first, second] = processes as [Database, Database];
    const held = Promise.withResolvers<string>();
    const waiting = first.withLock('held', () => held.promise);
    for (const db of [first, second]) assert.equal(await db.withLock('other', async () => 'ran'), 'ran');
    held.resolve('released');
    assert.equal(await waiting, 'released');
  });

  it('pass to another process when the holder ends or loses its connection, and can be taken again then', async () => {
    const [first] = processes as [Database];
    for (const end of ['close', 'terminate'] as const) {
      const holder = await open();
      const held = Promise.withResolvers<void>();
      let isHeld = false;
      const holding = holder.withLock('passed', () => {
        isHeld = true;
        return held.promise;
      });
      await until(() => isHeld);
      const passed = first.withLock('passed', async () => 'passed');
      if (end === 'close') await holder.close();
      else
        await first.execute(
          `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and database =
           (select oid from pg_database where datname = current_database())`,
        );
      assert.equal(await passed, 'passed');
      held.resolve();
      await holding;
      if (end === 'terminate') assert.equal(await holder.withLock('passed', async () => 'again'), 'again');
      await holder.close();
    }
  });

  it('are granted to a task that waits while the database accepts no connections for a while', async () => {
    const [first] = processes as [Database];
    const failed = Promise.withResolvers<void>();
    const write = (line: string): void => {
      if (line.includes('database lock connection not opened')) failed.resolve();
    };
    const second = await openPostgres(database.url, createLogger('warn', { write }));
    const held = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const holding = first.withLock('waited for', () => {
      taken.resolve();
      return held.promise;
    });
    await taken.promise;
    const lockBackends = "pg_stat_activity where application_name = 'quire-locks' and datname = current_database()";
    const countBackends = async () => (await first.execute(`select from ${lockBackends}`)).rows.length;
    // Other tests leave connections. Without the one of `second`, nothing would be ended that has to be opened again.
    const others = await countBackends();
    const waiting = second.withLock('waited for', async () => 'granted');
    await until(async () => (await countBackends()) > others);
    const acceptConnections = (isAccepting: boolean) =>
      first.execute(`update pg_database set datallowconn = ${isAccepting} where datname = current_database()`);
    await acceptConnections(false);
    await first.execute(`select pg_terminate_backend(pid) from ${lockBackends}`);
    await failed.promise;
    await acceptConnections(true);
    held.resolve();
    await holding;
    assert.equal(await waiting, 'granted');
    await second.close();
  });
});
