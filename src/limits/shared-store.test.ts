import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { openTestDatabase } from '../../test/database.ts';
import { limitStoreConformance } from '../../test/limit-store-conformance.ts';
import type { Database } from '../db/db.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { createLogger } from '../lib/logger.ts';
import { SharedLimitStore } from './shared-store.ts';

const logger = createLogger('silent');
/** Any time: the tests move it for the processes and the database together. */
let now = 1_000_000_000;
const advance = (milliseconds: number) => {
  now += milliseconds;
};

const leases = new Map<SharedLimitStore, ProcessLease>();
const openStore = async (db: Database) => {
  const lease = new ProcessLease({ db, logger });
  await lease.beat();
  const store = new SharedLimitStore({
    ...{ db, lease, logger, metrics: new Registry() },
    ...{ now: () => now, databaseNow: () => now },
  });
  leases.set(store, lease);
  return store;
};

limitStoreConformance('shared', async () => {
  const db = await openTestDatabase();
  const store = await openStore(db);
  const close = async () => {
    await store.close();
    await db.close();
  };
  return { store, advance, close };
});

describe('shared rate limits', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());
  const one = (id: string, limit: number, cost = 1) => ({ charges: [{ bucket: { id, limit }, cost }], slots: [] });
  const age = (store: SharedLimitStore, seconds: number) =>
    db.execute(
      `update processes set renewed_at = now() - ${seconds} * interval '1 second' where id = '${leases.get(store)?.id}'`,
    );
  const slot = (id: string, limit: number) => ({ charges: [], slots: [{ id, limit }] });

  it('are those of all processes together', async () => {
    const stores = [await openStore(db), await openStore(db), await openStore(db)];
    let taken = 0;
    for (let turn = 0; turn < 40; turn++) {
      const rejections = await Promise.all(stores.map(async (store) => store.take(one('together', 60))));
      taken += rejections.filter((rejection) => rejection === null).length;
    }
    assert.equal(taken, 60);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('give an idle process what another has taken ahead and not used, once it was returned', async () => {
    const [first, second] = [await openStore(db), await openStore(db)];
    assert.equal(await first.take(one('ahead', 600, 300)), null);
    assert.notEqual(await second.take(one('ahead', 600, 300)), null);
    await first.close();
    advance(1_000);
    assert.equal(await second.take(one('ahead', 600, 300)), null);
    await second.close();
  });

  it('never give more than burst, refill and what processes hold ahead, in random interleavings', async () => {
    for (const limit of [7, 600, 60_000]) {
      const stores = [await openStore(db), await openStore(db), await openStore(db)];
      const id = `random ${limit}`;
      const startedAt = now;
      let taken = 0;
      for (let step = 0; step < 60; step++) {
        const costs = stores.map(() => Math.ceil((Math.random() * limit) / 6));
        const outcomes = await Promise.all(stores.map(async (store, at) => store.take(one(id, limit, costs[at]))));
        outcomes.forEach((rejection, at) => {
          if (rejection === null) taken += costs[at] ?? 0;
        });
        advance(Math.floor(Math.random() * 700));
        const ahead = (stores.length * 2 * limit) / 60;
        const bound = limit + ((now - startedAt) * limit) / 60_000 + ahead;
        assert.ok(taken <= bound, `limit ${limit}: ${taken} units, at most ${bound}`);
      }
      assert.ok(taken >= limit, `limit ${limit}: only ${taken} units`);
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it('keep slots of all processes together, and free those of a process that has ended', async () => {
    const [first, second] = [await openStore(db), await openStore(db)];
    assert.equal(await first.take(slot('slots', 2)), null);
    assert.equal(await second.take(slot('slots', 2)), null);
    assert.notEqual(await first.take(slot('slots', 2)), null);
    assert.notEqual(await second.take(slot('slots', 2)), null);
    // The first process ends without a word: its heartbeat is missing.
    await age(first, 14);
    assert.notEqual(await second.take(slot('slots', 2)), null);
    await age(first, 16);
    advance(1_000);
    assert.equal(await second.take(slot('slots', 2)), null);
    assert.notEqual(await second.take(slot('slots', 2)), null);
    await Promise.all([first.close(), second.close()]);
  });

  it('count the slots again that a process uses which was only slow', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const [slow, other] = [await openStore(db), await openStore(db)];
    assert.equal(await slow.take(slot('slow', 2)), null);
    await age(slow, 31);
    await leases.get(await openStore(db))?.start();
    await leases.get(slow)?.beat();
    t.mock.timers.tick(1_000);
    // Waits for the exchange that the timer has started.
    await slow.take(one('other', 1));
    assert.equal(await other.take(slot('slow', 2)), null);
    assert.notEqual(await other.take(slot('slow', 2)), null);
    await Promise.all([slow.close(), other.close()]);
  });

  it('keep the slots of a request that runs for long, and return units that nothing uses', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const [first, second] = [await openStore(db), await openStore(db)];
    const bucket = { id: 'unused', limit: 600 };
    await first.take({ charges: [{ bucket, cost: 1 }], slots: [{ id: 'long', limit: 1 }] });
    for (let seconds = 0; seconds < 20; seconds += 6) {
      advance(6_000);
      t.mock.timers.tick(1_000);
      // Waits for the exchange that the timer has started.
      await first.take(one(`other ${seconds}`, 1));
    }
    assert.notEqual(await second.take(slot('long', 1)), null);
    assert.equal(await second.take(one('unused', 600, 600)), null);
    await Promise.all([first.close(), second.close()]);
  });

  it('are those of each process alone while the database fails', async () => {
    let isDown = false;
    const prepare: Database['prepare'] = (name, statement) => {
      const run = db.prepare(name, statement);
      return (parameter) => (isDown ? Promise.reject(new Error('down')) : run(parameter));
    };
    const [first, second] = [await openStore({ ...db, prepare }), await openStore(db)];
    isDown = true;
    const outcomes: unknown[] = [];
    for (let count = 0; count < 12; count++) outcomes.push(await first.take(one('outage', 10)));
    assert.deepEqual(outcomes, [...Array(10).fill(null), ...Array(2).fill({ id: 'outage', waitMs: 6_000 })]);
    isDown = false;
    advance(1_000);
    assert.equal(await second.take(one('outage', 10, 10)), null);
    assert.deepEqual(await first.take(one('outage', 10)), { id: 'outage', waitMs: 6_000 });
    await Promise.all([first.close(), second.close()]);
  });
});
