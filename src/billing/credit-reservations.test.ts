import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BY, exactly, limitedCall, TestProcess, usageRecord } from '../../test/credit-process.ts';
import { openTestDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { sumCredits } from '../../test/sum-credits.ts';
import { SCARCE_CREDITS } from '../../test/support/awkward.ts';
import type { Database } from '../db/db.ts';
import { type Call, type KeyBudget, serviceCaller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { adjustBalance, readBalance, readKeySpend, setBalance, sumLeases } from './credits.ts';
import { extendLease } from './lease-store.ts';
import { usageRecords } from './tables.ts';

/** A deterministic generator of numbers in [0, 1) (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('CreditReservations', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  const newCall = (balanceMicros: number | null, budget: KeyBudget | null = null) =>
    limitedCall(db, balanceMicros, budget);
  const balanceOf = async ({ caller }: Call) =>
    (await readBalance(db.sql, caller.organizationId))?.balanceMicros ?? null;

  it('asks for nothing without a balance and a budget, once the limits are known', async () => {
    const call = await newCall(null);
    const { credits } = new TestProcess(db);
    assert.equal(await credits.reserve(call, () => assert.fail('bounds are not needed')), null);
    assert.equal(
      credits.reserve(call, () => assert.fail('bounds are not needed')),
      null,
    );
  });

  it('grants what is left between the bounds, and nothing below the minimum', async () => {
    const call = await newCall(100);
    const testProcess = new TestProcess(db);
    assert.equal((await testProcess.reserve(call, exactly(70)))?.grantedMicros, 70);
    assert.equal((await testProcess.reserve(call, { minMicros: 10, maxMicros: 50 }))?.grantedMicros, 30);
    assert.equal(await testProcess.reserve(call, exactly(1)), null);
    await testProcess.settle(0, 5);
    assert.equal(await balanceOf(call), 95);
    assert.equal((await testProcess.reserve(call, exactly(65)))?.grantedMicros, 65);
  });

  for (const { name, balance, budget, granted } of SCARCE_CREDITS) {
    it(`grants what ${name} leaves of a call, and holds no more of balance and budget`, async () => {
      const limit = budget === null ? null : ({ period: 'total', limitMicros: budget, softLimitMicros: null } as const);
      const call = await newCall(balance, limit);
      const ofOtherKey = { ...call, caller: serviceCaller(call.caller.organizationId, newId('apiKey')) };
      const testProcess = new TestProcess(db);
      const free = async (each: Call, micros: number) => {
        assert.equal(await testProcess.reserve(each, exactly(micros + 1)), null);
        assert.equal((await testProcess.reserve(each, exactly(micros)))?.grantedMicros, micros);
      };
      const reservation = await testProcess.reserve(call, { minMicros: 10, maxMicros: 100 });
      assert.equal(reservation?.grantedMicros ?? null, granted);
      const held = granted ?? 0;
      if (granted !== null) await testProcess.settle(0, held);
      if (balance !== null && balance > held) await free(ofOtherKey, balance - held);
      if (budget === null || budget === held) return;
      await setBalance(db.sql, call.caller.organizationId, null, BY);
      testProcess.credits.evictLimits(call.caller.organizationId);
      await free(call, budget - held);
    });
  }

  it('learns in every process that a balance is limited now, and that it is unlimited again', async (t) => {
    const call = await newCall(null);
    // The clock stands still, so that no cached limit expires.
    const testProcess = new TestProcess(db, () => 0);
    testProcess.credits.start();
    t.after(() => testProcess.credits.stop());
    // The first connection evicts all limits; afterwards, only a notification does.
    await new Promise<void>((onGap) => db.listen('quire_api_keys', { onNotification: () => {}, onGap }));
    const isLimited = async () => (await testProcess.credits.reserve(call, () => exactly(1))) !== null;
    assert.equal(await isLimited(), false);
    await setBalance(db.sql, call.caller.organizationId, 100, BY);
    await until(isLimited);
    await setBalance(db.sql, call.caller.organizationId, null, BY);
    await until(async () => !(await isLimited()));
  });

  it('leases no more than the balance to processes that ask at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const call = await newCall(100);
      const processes = Array.from({ length: 6 }, () => new TestProcess(db));
      const reservations = await Promise.all(processes.map((testProcess) => testProcess.reserve(call, exactly(40))));
      assert.equal(reservations.filter((reservation) => reservation !== null).length, 2);
    }
  });

  it('reserves from memory once a lease is extended, and reserves concurrent calls with one statement', async () => {
    const call = await newCall(1_000_000);
    let transactions = 0;
    const { sql } = db;
    const transaction = sql.transaction.bind(sql);
    const counting = Object.assign(Object.create(sql) as typeof sql, {
      transaction: (...args: Parameters<typeof transaction>) => {
        transactions += 1;
        return transaction(...args);
      },
    });
    const testProcess = new TestProcess({ ...db, sql: counting });
    await Promise.all(Array.from({ length: 50 }, () => testProcess.reserve(call, exactly(100))));
    assert.equal(transactions, 1);
    assert.ok(!(testProcess.credits.reserve(call, () => exactly(100)) instanceof Promise));
  });

  it('limits the spending of a key in the period of its budget, whatever the balance', async () => {
    const call = await newCall(null, { period: 'day', limitMicros: 100, softLimitMicros: 50 });
    const headers: string[] = [];
    const watched = { ...call, setHeader: (name: string, value: string) => void headers.push(`${name}: ${value}`) };
    let now = Date.now();
    const testProcess = new TestProcess(db, () => now);
    await testProcess.reserve(watched, exactly(60));
    await testProcess.settle(0, 60);
    assert.deepEqual(headers, []);
    await testProcess.reserve(watched, exactly(30));
    assert.deepEqual(headers, ['x-budget-warning: soft_limit_exceeded']);
    await assert.rejects(async () => testProcess.credits.reserve(call, () => exactly(11)), {
      status: 402,
      message: 'The daily budget of this API key does not cover this request.',
    });
    await testProcess.settle(0, 20);
    assert.equal(await readKeySpend(db.sql, call.caller.keyId, { period: 'day' }, now), 80);
    now += 24 * 60 * 60_000;
    assert.equal((await testProcess.reserve(call, exactly(100)))?.grantedMicros, 100);
  });

  it('counts what a key has spent before it got its budget', async () => {
    const call = await newCall(null, { period: 'total', limitMicros: 100, softLimitMicros: null });
    const { organizationId, keyId } = call.caller;
    await db.sql.insert(usageRecords).values({ ...usageRecord(call, 95), organizationId, keyId });
    const testProcess = new TestProcess(db);
    assert.equal(await testProcess.reserve(call, exactly(6)), null);
    assert.equal((await testProcess.reserve(call, exactly(5)))?.grantedMicros, 5);
  });

  it('returns the credits of a process that ended, and of one that has no use for them', async () => {
    const call = await newCall(1_000);
    const [crashed, idle, other] = [new TestProcess(db), new TestProcess(db), new TestProcess(db)];
    await crashed.reserve(call, exactly(400));
    await idle.reserve(call, exactly(500));
    await idle.settle(0, 0);
    assert.equal(await other.reserve(call, exactly(900)), null);
    for (let second = 0; second < 3; second += 1) await idle.credits.giveBack();
    assert.equal(await other.reserve(call, exactly(900)), null);
    await crashed.expire();
    assert.equal((await other.reserve(call, exactly(1_000)))?.grantedMicros, 1_000);
  });

  it('leases again what running calls have reserved, and no more, when others have taken over its credits', async (t) => {
    const call = await newCall(1_000);
    const [paused, other] = [new TestProcess(db), new TestProcess(db)];
    t.after(() => Promise.all([paused.stop(), other.stop()]));
    for (const micros of [100, 300]) await paused.reserve(call, exactly(micros));
    await paused.settle(1, 0);
    await paused.expire();
    assert.equal((await other.reserve(call, exactly(950)))?.grantedMicros, 950);
    await paused.lease.beat();
    assert.equal(await paused.reserve(call, exactly(1)), null);
    assert.equal((await readBalance(db.sql, call.caller.organizationId))?.reservedMicros, 1_000);
    await other.settle(0, 950);
    await paused.settle(0, 100);
    assert.equal(await balanceOf(call), 0, 'the balance covers 50 of the 100');
  });

  it('503, not 402, when the database takes longer than a lease lasts', async (t) => {
    const call = await newCall(1_000_000);
    let delayMs = 26_000;
    const clock = performance.now.bind(performance);
    let skewMs = 0;
    t.mock.method(performance, 'now', () => clock() + skewMs);
    const { sql } = db;
    const slow = Object.assign(Object.create(sql) as typeof sql, {
      transaction: async (...args: Parameters<typeof sql.transaction>) => {
        const result = await sql.transaction(...args);
        skewMs += delayMs;
        return result;
      },
    });
    const testProcess = new TestProcess({ ...db, sql: slow });
    await assert.rejects(testProcess.reserve(call, exactly(10)), { status: 503, code: 'engine_unavailable' });
    delayMs = 0;
    assert.equal((await testProcess.reserve(call, exactly(10)))?.grantedMicros, 10);
  });

  it('keeps nothing of a budget whose balance had to be asked for', async () => {
    const call = await newCall(100, { period: 'total', limitMicros: 100_000, softLimitMicros: null });
    const testProcess = new TestProcess(db);
    await testProcess.reserve(call, exactly(10));
    await testProcess.reserve(call, exactly(50));
    for (const _ of [1, 2]) await testProcess.settle(0, 0);
    for (let second = 0; second < 3; second += 1) await testProcess.credits.giveBack();
    assert.equal(await sumLeases(db.sql, `${call.caller.keyId}/total`), 0);
  });

  it('grants everything and leases nothing of a balance that has become unlimited', async () => {
    const { organizationId } = (await newCall(null)).caller;
    const lease = await extendLease(db.sql, newId('process'), { id: organizationId, budget: null }, 500);
    assert.deepEqual(lease, { leasedMicros: 500, spentMicros: 0 });
    assert.equal(await sumLeases(db.sql, organizationId), 0);
  });

  it('charges a record once when the result of its statement is lost', async () => {
    const call = await newCall(100);
    let isLost = true;
    const prepare: Database['prepare'] = (name, statement) => {
      const run = db.prepare(`${name}_${newId('usage')}`, statement);
      return async (parameter) => {
        const rows = await run(parameter);
        if (isLost) {
          isLost = false;
          throw new Error('the connection was closed');
        }
        return rows;
      };
    };
    const testProcess = new TestProcess({ ...db, prepare });
    await testProcess.reserve(call, exactly(80));
    await testProcess.settle(0, 30);
    assert.equal(await balanceOf(call), 70);
    assert.deepEqual(await sumCredits(db.sql, call.caller.organizationId), { transactions: 100, charged: 30 });
  });

  it('charges no more than the balance for a call that costs more than it reserved', async () => {
    const call = await newCall(100);
    const testProcess = new TestProcess(db);
    await testProcess.reserve(call, exactly(60));
    await testProcess.reserve(call, exactly(40));
    await Promise.all([testProcess.settle(0, 90), testProcess.settle(0, 40)]);
    assert.equal(await balanceOf(call), 0);
    assert.deepEqual(await sumCredits(db.sql, call.caller.organizationId), { transactions: 100, charged: 100 });
  });

  for (const seed of [1, 2, 3]) {
    it(`never overspends and charges exactly, whatever three processes do (seed ${seed})`, async () => {
      const random = randomFrom(seed);
      const upTo = (limit: number) => Math.floor(random() * limit);
      const budget = { period: 'total', limitMicros: 3_000, softLimitMicros: null } as const;
      const calls = [await newCall(2_000), await newCall(1_500, budget), await newCall(null, budget)];
      const processes = [new TestProcess(db), new TestProcess(db), new TestProcess(db)];
      const recorded = new Map<string, number>();
      const pending: Promise<unknown>[] = [];
      const settle = (testProcess: TestProcess, share: number) => {
        const { call, reservation } = testProcess.running[0] ?? {};
        if (call === undefined || reservation === undefined) return;
        const cost = Math.floor(reservation.grantedMicros * share);
        const { organizationId } = call.caller;
        recorded.set(organizationId, (recorded.get(organizationId) ?? 0) + cost);
        pending.push(testProcess.settle(0, cost));
      };
      for (let step = 0; step < 150; step += 1) {
        const index = upTo(processes.length);
        const testProcess = processes[index]!;
        const call = calls[upTo(calls.length)]!;
        const action = random();
        if (action < 0.5) {
          const minMicros = upTo(40);
          pending.push(testProcess.reserve(call, { minMicros, maxMicros: minMicros + 1 + upTo(60) }));
        } else if (action < 0.85) settle(testProcess, random());
        else if (action < 0.92) pending.push(testProcess.credits.giveBack());
        else if (action < 0.97) {
          if ((await balanceOf(call)) !== null) await adjustBalance(db.sql, call.caller.organizationId, upTo(50), BY);
        } else {
          // A crash: the reservations are never settled, and the lease expires.
          await Promise.all(pending.splice(0));
          await testProcess.ledger.flush();
          await testProcess.expire();
          processes[index] = new TestProcess(db);
        }
        if (step % 5 === 0) await Promise.all(pending.splice(0));
      }
      await Promise.all(pending);
      for (const call of calls) {
        const { organizationId, keyId } = call.caller;
        const balance = await balanceOf(call);
        const spent = recorded.get(organizationId) ?? 0;
        const { transactions, charged } = await sumCredits(db.sql, organizationId);
        assert.ok((balance ?? 0) >= 0);
        assert.equal(transactions - charged, balance ?? 0, 'transactions - charged = balance');
        assert.equal(charged, balance === null ? 0 : spent, 'all usage is charged once');
        if (call !== calls[0]) {
          assert.ok(spent <= budget.limitMicros);
          assert.equal(await readKeySpend(db.sql, keyId, budget, Date.now()), spent);
        }
      }
    });
  }
});
