import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { eq } from 'drizzle-orm';
import { BY, exactly, limitedCall, TestProcess } from '../../test/credit-process.ts';
import { openTestDatabase } from '../../test/database.ts';
import { until, withDeadline } from '../../test/deadline.ts';
import { sumCredits } from '../../test/sum-credits.ts';
import { holdStatement } from '../../test/support/hold-statement.ts';
import { updateApiKey } from '../accounts/store.ts';
import type { Database } from '../db/db.ts';
import type { Call, KeyBudget } from '../lib/caller.ts';
import { adjustBalance, forgetKeySpend, readBalance, setBalance } from './credits.ts';
import { awaitRevocations } from './revoke-leases.ts';
import { creditLeases } from './tables.ts';

describe('a changed limit', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
    // The first connection is a gap in the notifications, after which limits are read again.
    await new Promise<void>((onGap) => db.listen('quire_api_keys', { onNotification: () => {}, onGap }));
  });
  after(() => db.close());

  /** A process that is notified. */
  const start = async (t: Pick<TestContext, 'after'>, database: Database = db) => {
    const started = new TestProcess(database);
    await started.lease.start();
    started.credits.start();
    t.after(() => started.stop());
    return started;
  };
  /** A process that receives no notifications. Other processes see it after a heartbeat. */
  const startDeaf = (t: Pick<TestContext, 'after'>) => {
    const deaf = new TestProcess(db);
    t.after(() => deaf.stop());
    return deaf;
  };
  /** Waits until a lowered limit holds in every process: those without notifications learn it as they renew leases. */
  const awaitLower = async (id: string, deaf?: TestProcess) => {
    const timer = setInterval(() => void deaf?.credits.giveBack(), 5);
    await withDeadline('the end of the leases', awaitRevocations(db.sql, id)).finally(() => clearInterval(timer));
  };
  const lower = async ({ caller: { organizationId } }: Call, balanceMicros: number, deaf?: TestProcess) => {
    await setBalance(db.sql, organizationId, balanceMicros, BY);
    await awaitLower(organizationId, deaf);
  };
  const leaseOf = async (testProcess: TestProcess, call: Call) => {
    await testProcess.reserve(call, exactly(1_000));
    await testProcess.settle(0, 0);
  };

  /** Reserves in all processes at the same time, before any timer of a renewal. Returns how many calls are granted. */
  const reserveInEach = async (processes: readonly TestProcess[], call: Call, micros: number) => {
    const reserved = await Promise.all(processes.map((testProcess) => testProcess.reserve(call, exactly(micros))));
    return reserved.filter((reservation) => reservation !== null).length;
  };

  it('of an organization holds in every process once it is awaited, also where notifications are lost', async (t) => {
    const deaf = startDeaf(t);
    const processes = [await start(t), await start(t), deaf];
    for (const balanceMicros of [0, 9, 10, 19, 1_009]) {
      const call = await limitedCall(db, 100_000, null);
      for (const testProcess of processes) await leaseOf(testProcess, call);
      await lower(call, balanceMicros, deaf);
      assert.equal((await readBalance(db.sql, call.caller.organizationId))?.reservedMicros, 0);
      const cost = balanceMicros > 1_000 ? 1_000 : 10;
      const granted = await reserveInEach(processes, call, cost);
      assert.equal(granted, balanceMicros < 10 ? 0 : 1, `${balanceMicros}`);
      for (const testProcess of processes) while (testProcess.running.length > 0) await testProcess.settle(0, cost);
      assert.deepEqual((await sumCredits(db.sql, call.caller.organizationId)).charged, granted * cost);
    }
  });

  it('is obeyed by a subtraction, too, and is not waited for while it covers all leases', async (t) => {
    const [first, second] = [await start(t), await start(t)];
    const call = await limitedCall(db, 100_000, null);
    for (const testProcess of [first, second]) await leaseOf(testProcess, call);
    const { organizationId } = call.caller;
    await adjustBalance(db.sql, organizationId, -50_000, BY);
    assert.notEqual((await readBalance(db.sql, organizationId))?.reservedMicros, 0);
    await adjustBalance(db.sql, organizationId, -49_999, BY);
    await awaitRevocations(db.sql, organizationId);
    assert.equal(await reserveInEach([first, second], call, 1), 1);
  });

  it('does not wait for calls that find nothing left', async (t) => {
    const testProcess = await start(t);
    const call = await limitedCall(db, 100_000, null);
    await leaseOf(testProcess, call);
    let isLowered = false;
    const lowered = lower(call, 0).finally(() => {
      isLowered = true;
    });
    while (!isLowered) {
      for (const _ of [1, 2]) void testProcess.reserve(call, exactly(1));
      if (testProcess.running.length > 0) await testProcess.settle(0, 0);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await lowered;
  });

  it('leaves what running calls have reserved to them, and charges them exactly', async (t) => {
    const [busy, other] = [await start(t), await start(t)];
    const call = await limitedCall(db, 100_000, null);
    await busy.reserve(call, exactly(600));
    await leaseOf(other, call);
    await lower(call, 1_000);
    assert.equal(await other.reserve(call, exactly(401)), null);
    assert.equal(await busy.reserve(call, exactly(401)), null);
    // The lease of the busy process has some spare credits.
    assert.equal((await other.reserve(call, exactly(380)))?.grantedMicros, 380);
    await Promise.all([busy.settle(0, 600), other.settle(0, 380)]);
    assert.equal((await readBalance(db.sql, call.caller.organizationId))?.balanceMicros, 20);
    assert.equal((await sumCredits(db.sql, call.caller.organizationId)).charged, 980);
  });

  it('wins over the extension of a lease whose result arrives after it', async (t) => {
    const call = await limitedCall(db, 100_000, null);
    const result = Promise.withResolvers<void>();
    let isHeld = true;
    const slow = Object.assign(Object.create(db.sql) as typeof db.sql, {
      transaction: async (...args: Parameters<typeof db.sql.transaction>) => {
        const lease = await db.sql.transaction(...args);
        if (isHeld) await result.promise;
        return lease;
      },
    });
    const testProcess = await start(t, { ...db, sql: slow });
    const waiting = testProcess.reserve(call, exactly(10));
    const { organizationId } = call.caller;
    await until(async () => ((await readBalance(db.sql, organizationId))?.reservedMicros ?? 0) > 0);
    let isLowered = false;
    const lowered = lower(call, 0).then(() => {
      isLowered = true;
    });
    await until(async () => (await readBalance(db.sql, organizationId))?.balanceMicros === 0);
    assert.equal(isLowered, false, 'the process may still use its lease');
    // The notification arrives.
    testProcess.credits.evictLimits(organizationId);
    isHeld = false;
    result.resolve();
    assert.equal(await waiting, null);
    await lowered;
    assert.equal(await testProcess.reserve(call, exactly(1)), null);
  });

  it('holds in a process that cannot reach the database when it is notified', async (t) => {
    const call = await limitedCall(db, 100_000, null);
    let isDown = false;
    const failing = Object.assign(Object.create(db.sql) as typeof db.sql, {
      transaction: (...args: Parameters<typeof db.sql.transaction>) =>
        isDown ? Promise.reject(new Error('down')) : db.sql.transaction(...args),
    });
    const testProcess = await start(t, { ...db, sql: failing });
    await leaseOf(testProcess, call);
    isDown = true;
    testProcess.credits.evictLimits(call.caller.organizationId);
    await assert.rejects(testProcess.reserve(call, exactly(1)), /down/);
    await assert.rejects(testProcess.reserve(call, exactly(1)), /down/);
    isDown = false;
    assert.equal((await testProcess.reserve(call, exactly(1)))?.grantedMicros, 1);
  });

  it('waits for the lease of a process that does not answer, until it expires', async () => {
    const call = await limitedCall(db, 100_000, null);
    const silent = new TestProcess(db);
    await leaseOf(silent, call);
    let isLowered = false;
    const lowered = lower(call, 0).then(() => {
      isLowered = true;
    });
    await until(async () => (await readBalance(db.sql, call.caller.organizationId))?.reservedMicros === 0);
    assert.equal(isLowered, false);
    await silent.expire();
    await lowered;
  });

  it('of a key holds in every process that has its earlier limit cached', async (t) => {
    const deaf = startDeaf(t);
    const processes = [await start(t), deaf];
    const budget = { period: 'day', limitMicros: 100_000, softLimitMicros: null } as const;
    const call = await limitedCall(db, null, budget);
    for (const testProcess of processes) await leaseOf(testProcess, call);
    const { keyId } = call.caller;
    await db.sql.transaction(async (sql) => {
      await updateApiKey(sql, keyId, { budget: { ...budget, limitMicros: 10 } });
      await forgetKeySpend(sql, keyId);
    });
    await awaitLower(keyId, deaf);
    assert.equal(await reserveInEach([deaf, deaf, ...processes], call, 10), 1);
  });

  const DAILY = { period: 'day', limitMicros: 10, softLimitMicros: null } as const;
  const setBudget = ({ caller: { keyId } }: Call, budget: KeyBudget) =>
    db.sql.transaction(async (sql) => {
      await updateApiKey(sql, keyId, { budget });
      await forgetKeySpend(sql, keyId);
    });
  /** Limits of calls that had none or another: earlier balance and budget, the change, and whose leases are awaited. */
  const FIRST_LIMITS = [
    {
      name: 'a balance',
      before: [null, null],
      change: ({ caller }: Call) => setBalance(db.sql, caller.organizationId, 10, BY),
      id: ({ caller }: Call) => caller.organizationId,
    },
    {
      name: 'a balance beside a budget',
      before: [null, { ...DAILY, limitMicros: 100 }],
      change: ({ caller }: Call) => setBalance(db.sql, caller.organizationId, 10, BY),
      id: ({ caller }: Call) => caller.organizationId,
    },
    {
      name: 'a budget',
      before: [null, null],
      change: (call: Call) => setBudget(call, DAILY),
      id: ({ caller }: Call) => caller.keyId,
    },
    {
      name: 'a budget beside a balance',
      before: [100, null],
      change: (call: Call) => setBudget(call, DAILY),
      id: ({ caller }: Call) => caller.keyId,
    },
    {
      name: 'a budget of another period',
      before: [null, { ...DAILY, period: 'total', limitMicros: 100 }],
      change: (call: Call) => setBudget(call, DAILY),
      id: ({ caller }: Call) => caller.keyId,
    },
  ] as const;
  for (const { name, before, change, id } of FIRST_LIMITS)
    it(`that introduces ${name} holds in every process once it is awaited`, async (t) => {
      const deaf = startDeaf(t);
      await deaf.lease.beat();
      const processes = [await start(t), await start(t), deaf];
      const call = await limitedCall(db, before[0], before[1]);
      for (const { credits } of processes) (await credits.reserve(call, () => exactly(1)))?.settle(0);
      await change(call);
      let isAwaited = false;
      const awaited = awaitRevocations(db.sql, id(call)).then(() => {
        isAwaited = true;
      });
      await until(async () => !(await isPending(processes[0] as TestProcess, id(call))));
      assert.equal(isAwaited, false, 'a process may still use its earlier limit');
      await awaitLower(id(call), deaf);
      await awaited;
      assert.equal(await reserveInEach(processes, call, 10), 1);
    });

  /** Whether a process has not acknowledged a change yet. */
  const isPending = async ({ lease }: TestProcess, id: string) => {
    const rows = await db.sql.select().from(creditLeases).where(eq(creditLeases.processId, lease.id));
    return rows.some(({ account, amountMicros }) => account.startsWith(id) && amountMicros === 0);
  };

  it('is read again by a call whose lookup has begun before the change', async (t) => {
    const call = await limitedCall(db, null, null);
    const testProcess = await start(t);
    const lookup = holdStatement(t, /left join "api_keys"/, { at: 'result' });
    const reserved = testProcess.reserve(call, exactly(11));
    await lookup.reached();
    await setBalance(db.sql, call.caller.organizationId, 10, BY);
    await awaitLower(call.caller.organizationId);
    lookup.release();
    assert.equal(await reserved, null);
  });

  it('waits for a process that does not answer until it counts as ended, and not for one that has stopped', async (t) => {
    const call = await limitedCall(db, null, null);
    const { organizationId } = call.caller;
    const [stopped, silent] = [await start(t), startDeaf(t)];
    await stopped.stop();
    await silent.lease.beat();
    let isAwaited = false;
    await setBalance(db.sql, organizationId, 10, BY);
    const awaited = awaitRevocations(db.sql, organizationId).then(() => {
      isAwaited = true;
    });
    assert.equal(await isPending(stopped, organizationId), false);
    assert.equal(await isPending(silent, organizationId), true);
    assert.equal(isAwaited, false);
    await silent.expire();
    await awaited;
    await setBalance(db.sql, organizationId, null, BY);
    await setBalance(db.sql, organizationId, 10, BY);
    await awaitRevocations(db.sql, organizationId);
  });
});
