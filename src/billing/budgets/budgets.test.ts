import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { eq } from 'drizzle-orm';
import { exactly, limitedCall, TestProcess, usageRecord } from '../../../test/credit-process.ts';
import { openTestDatabase } from '../../../test/database.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { openUserSession } from '../../../test/support/open-session.ts';
import { findSpentBudgets } from '../../alerts/find-causes.ts';
import { auditEvents } from '../../audit/tables.ts';
import type { Database } from '../../db/db.ts';
import { listSchema } from '../../db/page.ts';
import type { Call } from '../../lib/caller.ts';
import { minIdAt, newId } from '../../lib/ids.ts';
import { readBalance } from '../credits.ts';
import { keySpend, usageRecords } from '../tables.ts';
import { createBudget, deleteBudget, updateBudget } from './manage-budgets.ts';
import { BudgetResource } from './schema.ts';

const PATH = '/v1/budgets';

describe('an enforced budget', () => {
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
    // The first connection is a gap in the notifications.
    await new Promise<void>((onGap) => db.listen('quire_api_keys', { onNotification: () => {}, onGap }));
  });
  after(() => db.close());
  const deps = () => ({ db, now: Date.now });
  /** A process that is notified. */
  const start = async (t: Pick<TestContext, 'after'>, now?: () => number) => {
    const started = new TestProcess(db, now);
    await started.lease.start();
    started.credits.start();
    t.after(() => started.stop());
    return started;
  };
  /** Calls of two keys of one organization. */
  const twoKeys = async (): Promise<[Call, Call]> => {
    const call = await limitedCall(db, null, null);
    const other = await limitedCall(db, null, null);
    const { organizationId } = call.caller;
    const { keyId } = other.caller;
    await db.execute('update api_keys set organization_id = $1 where id = $2', [organizationId, keyId]);
    return [call, { ...other, caller: { ...other.caller, organizationId } }];
  };
  const spentOf = async (id: string) => {
    const [row] = await db.sql.select().from(keySpend).where(eq(keySpend.keyId, id));
    return row?.spentMicros ?? null;
  };

  it('bounds all keys of the organization in all processes together, and no other organization', async (t) => {
    const [call, other] = await twoKeys();
    const { id } = await createBudget(deps(), call, { name: 'All', amount_micros: 100, enforced: true });
    const processes = [await start(t), await start(t)] as const;
    assert.equal((await processes[0].reserve(call, exactly(60)))?.grantedMicros, 60);
    // The first process has reserved more credits than it needs.
    assert.equal((await processes[1].reserve(other, { minMicros: 1, maxMicros: 60 }))?.grantedMicros, 39);
    assert.equal(await processes[0].reserve(other, exactly(2)), null);
    const stranger = await limitedCall(db, 100, null);
    assert.equal((await processes[0].reserve(stranger, exactly(100)))?.grantedMicros, 100);
    await processes[0].settle(0, 10);
    await processes[1].settle(0, 39);
    assert.equal(await spentOf(id), 49);
    for (const { credits } of processes) for (let run = 0; run < 3; run += 1) await credits.giveBack();
    assert.equal((await processes[0].reserve(call, { minMicros: 1, maxMicros: 80 }))?.grantedMicros, 51);
  });

  it('of a group bounds its keys only, beside the balance and the budgets of the organization', async (t) => {
    const [call, other] = await twoKeys();
    const { organizationId } = call.caller;
    await db.execute('update organizations set balance_micros = 1000 where id = $1', [organizationId]);
    const group = await createBudget(deps(), call, {
      name: 'Team',
      key_ids: [call.caller.keyId],
      amount_micros: 30,
      enforced: true,
    });
    const all = await createBudget(deps(), call, { name: 'All', amount_micros: 50, enforced: true });
    const process = await start(t);
    assert.equal((await process.reserve(call, { minMicros: 1, maxMicros: 90 }))?.grantedMicros, 30);
    assert.equal((await process.reserve(other, { minMicros: 1, maxMicros: 90 }))?.grantedMicros, 20);
    await process.settle(0, 30);
    await process.settle(0, 20);
    assert.deepEqual([await spentOf(group.id), await spentOf(all.id)], [30, 50]);
    assert.equal((await readBalance(db.sql, organizationId))?.balanceMicros, 950);
  });

  it('counts earlier spend, and applies a change to every process when it resolves', async (t) => {
    const [call] = await twoKeys();
    const process = await start(t);
    await process.ledger.record(usageRecord(call, 70));
    const { id } = await createBudget(deps(), call, { name: 'All', amount_micros: 100, enforced: true });
    assert.equal(await process.reserve(call, exactly(31)), null);
    assert.equal((await process.reserve(call, exactly(30)))?.grantedMicros, 30);
    await process.settle(0, 0);
    await updateBudget(deps(), call, id, { amount_micros: 80 });
    assert.equal(await process.reserve(call, exactly(11)), null);
    await updateBudget(deps(), call, id, { enforced: false });
    await process.credits.giveBack();
    process.credits.evictLimits(call.caller.organizationId);
    assert.equal(await process.credits.reserve(call, () => exactly(1_000)), null, 'nothing limits the call');
    await updateBudget(deps(), call, id, { enforced: true, amount_micros: 75 });
    assert.equal(await process.reserve(call, exactly(6)), null);
    await deleteBudget(deps(), call, id);
    process.credits.evictLimits(call.caller.organizationId);
    assert.equal(await process.credits.reserve(call, () => exactly(1_000)), null);
  });

  it('begins anew in the next month', async (t) => {
    const [call] = await twoKeys();
    let time = Date.now();
    await createBudget(deps(), call, { name: 'All', amount_micros: 10, enforced: true });
    const process = await start(t, () => time);
    assert.equal((await process.reserve(call, exactly(10)))?.grantedMicros, 10);
    await process.settle(0, 10);
    assert.equal(await process.reserve(call, exactly(1)), null);
    time += 32 * 86_400_000;
    assert.equal((await process.reserve(call, exactly(10)))?.grantedMicros, 10);
  });
});

describe('/v1/budgets', () => {
  let time = Date.parse('2026-11-03T06:00:00Z');
  const api = useApi({ now: () => time });
  const create = (body: object, key = api.key) => api.send('POST', PATH, { key, body });
  const body = (fields: object = {}) => ({ name: 'Team "1"', amount_micros: 1_000, ...fields });
  const spend = async (organizationId: string, keyId: string, costMicros: number, day: string) => {
    const createdAt = new Date(`${day}T12:00:00Z`);
    const id = minIdAt('usage', createdAt.getTime()) + newId('usage').slice(-16);
    const record = usageRecord({ caller: { organizationId, keyId } } as Call, costMicros);
    await api.db.sql.insert(usageRecords).values({ ...record, id, createdAt });
  };

  it('creates, lists, changes and deletes a budget with spend and forecast, and audits it', async () => {
    const { id: keyId, key, organizationId } = await api.makeKey({ organization: 'spending' });
    const { id: otherKey } = await api.makeKey({ organization: 'spending' });
    for (const [day, cost] of [
      ['2026-10-31', 900],
      ['2026-11-01', 100],
      ['2026-11-02', 200],
    ] as const) {
      await spend(organizationId, keyId, cost, day);
    }
    await spend(organizationId, otherKey, 50, '2026-11-01');
    const { status, json } = await create(body({ key_ids: [keyId] }), key);
    assert.equal(status, 200);
    assertSchema(BudgetResource, json);
    assert.deepEqual([json.thresholds, json.enforced, json.key_ids], [[50, 80, 100], false, [keyId]]);
    assert.deepEqual([json.spent_micros, json.forecast_micros], [300, 4_500]);
    const period = [json.period_start, json.period_end].map((each) => new Date(each * 1000).toISOString().slice(0, 10));
    assert.deepEqual(period, ['2026-11-01', '2026-12-01']);
    const list = await api.send('GET', PATH, { key });
    assertSchema(listSchema(BudgetResource), list.json);
    assert.deepEqual(list.json.data, [json]);
    const changed = await api.send('PATCH', `${PATH}/${json.id}`, {
      key,
      body: { key_ids: null, thresholds: [100, 35] },
    });
    assert.deepEqual([changed.json.spent_micros, changed.json.thresholds], [350, [35, 100]]);
    const subjects = async () => (await findSpentBudgets(api.deps)).map(({ details }) => details.threshold_percent);
    assert.deepEqual(await subjects(), [35], 'at exactly 35 %');
    await api.send('PATCH', `${PATH}/${json.id}`, { key, body: { amount_micros: 1_001 } });
    assert.deepEqual(await subjects(), []);
    await api.send('PATCH', `${PATH}/${json.id}`, { key, body: { amount_micros: 350 } });
    assert.deepEqual(await subjects(), [35, 100]);
    time = Date.parse('2026-12-01T00:00:00Z');
    assert.deepEqual(await subjects(), [], 'a new month');
    time = Date.parse('2026-11-03T06:00:00Z');
    const removed = await api.send('DELETE', `${PATH}/${json.id}`, { key });
    assert.deepEqual(removed.json, { id: json.id, object: 'budget', deleted: true });
    assertError(await api.send('DELETE', `${PATH}/${json.id}`, { key }), 404, 'budget_not_found', 'budget_id');
    const events = await api.db.sql.select().from(auditEvents).where(eq(auditEvents.resourceId, json.id));
    assert.deepEqual(
      [...new Set(events.map(({ action }) => action))],
      ['budget.created', 'budget.updated', 'budget.deleted'],
    );
  });

  it('rejects calls beyond a budget with 402 only if the budget is enforced', async () => {
    const { key } = await api.makeKey({ organization: 'rejected' });
    const chat = () =>
      api.send('POST', '/v1/chat/completions', {
        key,
        body: { model: 'general-8b', messages: [{ role: 'user', content: 'a' }], max_tokens: 1 },
      });
    const { id } = (await create(body({ amount_micros: 1 }), key)).json;
    assert.equal((await chat()).status, 200);
    await api.send('PATCH', `${PATH}/${id}`, { key, body: { enforced: true } });
    const rejected = await chat();
    assertError(rejected, 402, 'insufficient_credits');
    assert.match(rejected.json.error.message, /The monthly budget 'Team "1"' of your organization/);
    await api.send('PATCH', `${PATH}/${id}`, { key, body: { amount_micros: 1_000_000 } });
    assert.equal((await chat()).status, 200);
  });

  const invalid: [object, string, string?][] = [
    [body({ name: undefined }), 'name', 'missing_required_field'],
    [body({ name: '' }), 'name'],
    [body({ name: 'x'.repeat(65) }), 'name'],
    [body({ name: 'a\u0000' }), 'name'],
    [body({ amount_micros: undefined }), 'amount_micros', 'missing_required_field'],
    [body({ amount_micros: 0 }), 'amount_micros'],
    [body({ amount_micros: 0.5 }), 'amount_micros'],
    [body({ thresholds: [] }), 'thresholds'],
    [body({ thresholds: [0] }), 'thresholds.0'],
    [body({ thresholds: [50, 50] }), 'thresholds'],
    [body({ thresholds: [1_001] }), 'thresholds.0'],
    [body({ key_ids: [] }), 'key_ids'],
    [body({ key_ids: ['key_x\u0000'] }), 'key_ids.0'],
  ];
  for (const [fields, param, code = 'invalid_value'] of invalid) {
    it(`rejects ${JSON.stringify(fields)} naming ${param}`, async () => {
      assertError(await create(fields), 400, code, param);
      if (code === 'missing_required_field') return;
      const { id } = (await create(body())).json;
      assertError(await api.send('PATCH', `${PATH}/${id}`, { body: fields }), 400, code, param);
      await api.send('DELETE', `${PATH}/${id}`);
    });
  }

  it('takes ids of keys and members of the organization only', async () => {
    const { id, key, organizationId } = await api.makeKey({ organization: 'team' });
    const { id: foreign, organizationId: foreignTeam } = await api.makeKey({ organization: 'foreign team' });
    const stranger = await openUserSession(api, [foreignTeam]);
    const member = await openUserSession(api, [organizationId]);
    assert.equal((await create(body({ key_ids: [id, member.id] }), key)).status, 200);
    for (const other of [foreign, stranger.id])
      assertError(await create(body({ key_ids: [id, other] }), key), 400, 'invalid_value', 'key_ids.1');
    const { id: budgetId } = (await create(body(), key)).json;
    const change = await api.send('PATCH', `${PATH}/${budgetId}`, { key, body: { key_ids: [foreign] } });
    assertError(change, 400, 'invalid_value', 'key_ids.0');
  });

  it('takes 50 budgets of an organization', async () => {
    const { key } = await api.makeKey({ organization: 'many' });
    for (let i = 0; i < 50; i += 1) assert.equal((await create(body({ name: 'x'.repeat(64) }), key)).status, 200);
    assertError(await create(body(), key), 400, 'invalid_value', 'name');
  });

  it('returns 401, 403, and 404 for unknown ids and ids of another organization', async () => {
    const { key } = await api.makeKey({ organization: 'third', scopes: ['inference'] });
    const { key: owner } = await api.makeKey({ organization: 'third', scopes: ['keys'] });
    assertError(await create(body(), key), 403, 'insufficient_scope');
    assertError(await api.send('GET', PATH, { key: null }), 401, 'invalid_api_key');
    assertError(await api.send('GET', `${PATH}?limit=0`), 400, 'invalid_value', 'limit');
    const { id } = (await create(body())).json;
    for (const each of [id, newId('budget'), 'x']) {
      const options = { key: owner, body: { name: 'a' } };
      assertError(await api.send('PATCH', `${PATH}/${each}`, options), 404, 'budget_not_found', 'budget_id');
      assertError(await api.send('DELETE', `${PATH}/${each}`, { key: owner }), 404, 'budget_not_found', 'budget_id');
    }
  });
});
