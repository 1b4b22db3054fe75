import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { sumCredits } from '../../test/sum-credits.ts';
import { AWKWARD_DAYS } from '../../test/support/awkward.ts';
import { insertOrganization } from '../accounts/store.ts';
import type { Database } from '../db/db.ts';
import { processes } from '../leases/tables.ts';
import { newId } from '../lib/ids.ts';
import {
  adjustBalance,
  budgetPeriod,
  readBalance,
  readKeySpend,
  selectCreditTransactions,
  setBalance,
} from './credits.ts';
import { creditLeases, usageDaily, usageRecords, usageRollups } from './tables.ts';
import { firstIdAt } from './usage-store.ts';

const BY = { actor: 'cli', note: null };

describe('credits', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());
  const newOrganization = async () => {
    const id = newId('organization');
    await insertOrganization(db.sql, id, id);
    return id;
  };

  it('records every change of a balance, and the sum of the changes is the balance', async () => {
    const id = await newOrganization();
    assert.deepEqual(await readBalance(db.sql, id), { balanceMicros: null, reservedMicros: 0 });
    await setBalance(db.sql, id, 500, BY);
    await adjustBalance(db.sql, id, -200, { actor: 'key_1', note: 'correction' });
    await setBalance(db.sql, id, 1_000, BY);
    assert.equal((await readBalance(db.sql, id))?.balanceMicros, 1_000);
    const rows = await selectCreditTransactions(db.sql, id, { limit: 10, after: null });
    assert.deepEqual(
      rows.map(({ kind, amountMicros, actor }) => [kind, amountMicros, actor]),
      [
        ['set', 500, 'cli'],
        ['adjustment', -200, 'key_1'],
        ['set', 700, 'cli'],
      ],
    );
    assert.deepEqual(await sumCredits(db.sql, id), { transactions: 1_000, charged: 0 });
    await setBalance(db.sql, id, null, BY);
    assert.deepEqual(await sumCredits(db.sql, id), { transactions: 0, charged: 0 });
  });

  it('400 for an adjustment below zero and for one of an unlimited balance', async () => {
    const id = await newOrganization();
    await assert.rejects(adjustBalance(db.sql, id, 5, BY), { code: 'invalid_value', param: 'amount_micros' });
    await setBalance(db.sql, id, 10, BY);
    await assert.rejects(adjustBalance(db.sql, id, -11, BY), { code: 'invalid_value', param: 'amount_micros' });
    assert.equal((await adjustBalance(db.sql, id, -10, BY))?.amountMicros, -10);
    assert.equal(await setBalance(db.sql, newId('organization'), 1, BY), null);
  });

  it('ends leases that a lower balance does not cover', async () => {
    const id = await newOrganization();
    await setBalance(db.sql, id, 100, BY);
    await db.sql.insert(processes).values({ id: 'p1', renewedAt: new Date() });
    await db.sql.insert(creditLeases).values({ account: id, processId: 'p1', amountMicros: 60 });
    await adjustBalance(db.sql, id, -40, BY);
    assert.deepEqual(await readBalance(db.sql, id), { balanceMicros: 60, reservedMicros: 60 });
    await adjustBalance(db.sql, id, -1, BY);
    assert.deepEqual(await readBalance(db.sql, id), { balanceMicros: 59, reservedMicros: 0 });
  });

  it('the period of a budget is the UTC day or month, to the millisecond', () => {
    const periods = (at: number) => (['day', 'month', 'total'] as const).map((period) => budgetPeriod({ period }, at));
    for (const { start, end, day, month, dayBefore, monthBefore } of AWKWARD_DAYS) {
      for (const at of [start, start + 3_600_000, end - 1]) assert.deepEqual(periods(at), [day, month, 'total']);
      assert.deepEqual(periods(start - 1), [dayBefore, monthBefore, 'total']);
    }
  });

  it('adds up the spend of a key from daily sums and records, by the period of its budget', async () => {
    const now = Date.UTC(2026, 2, 10, 12);
    const shared = { organizationId: 'org_1', keyId: 'key_1', endpoint: '/v1/embeddings', model: 'm' };
    const counts = { promptTokens: 1, cachedTokens: 0, completionTokens: 0 };
    const insert = (at: number, costMicros: number) =>
      db.sql.insert(usageRecords).values({
        ...shared,
        ...counts,
        id: firstIdAt(at) + String(costMicros).padStart(16, '0'),
        requestId: 'req_1',
        costMicros,
        outcome: 'completed',
        createdAt: new Date(at),
      });
    await insert(Date.UTC(2026, 2, 9), 10);
    await insert(Date.UTC(2026, 2, 10, 1), 200);
    const day = { ...shared, ...counts, requests: 1, searches: 0, rerankUnits: 0 };
    await db.sql.insert(usageDaily).values([
      { ...day, day: '2026-02-28', costMicros: 4_000 },
      { ...day, day: '2026-03-09', costMicros: 10 },
    ]);
    await db.sql.insert(usageRollups).values([{ day: '2026-02-28' }, { day: '2026-03-09' }]);
    const spend = (period: 'day' | 'month' | 'total') => readKeySpend(db.sql, 'key_1', { period }, now);
    assert.deepEqual([await spend('day'), await spend('month'), await spend('total')], [200, 210, 4_210]);
  });
});
