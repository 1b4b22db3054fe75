import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BY, exactly, limitedCall, TestProcess } from '../../../test/credit-process.ts';
import { until } from '../../../test/deadline.ts';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { listSchema } from '../../db/page.ts';
import { newId } from '../../lib/ids.ts';
import { setBalance } from '../credits.ts';
import { CreditTransaction, OrganizationCredits } from './schema.ts';

const api = useApi();
const PATH = '/v1/admin/credits';
const set = (id: string, body: object) => api.send('PUT', `${PATH}/${id}`, { body });
const adjust = (id: string, body: object, headers = {}) =>
  api.send('POST', `${PATH}/${id}/transactions`, { body, headers });
const balanceOf = async (id: string) => (await api.send('GET', `${PATH}/${id}`)).json.balance_micros;
const makeOrganization = async (name: string) => (await api.makeKey({ organization: name })).organizationId;

describe('/v1/admin/credits/{organization_id}', () => {
  it('credits are unlimited at first, are set, adjusted and made unlimited again, with transactions and audit events', async () => {
    const id = await makeOrganization('credited');
    const { json } = await api.send('GET', `${PATH}/${id}`);
    assertSchema(OrganizationCredits, json);
    assert.deepEqual([json.balance_micros, json.reserved_micros], [null, 0]);
    const { json: afterSet } = await set(id, { balance_micros: 100, note: 'Contract' });
    assertSchema(OrganizationCredits, afterSet);
    assert.equal(afterSet.balance_micros, 100);
    const { json: added } = await adjust(id, { amount_micros: 20 });
    assertSchema(CreditTransaction, added);
    await adjust(id, { amount_micros: -120 });
    assert.equal(await balanceOf(id), 0);
    assert.equal((await set(id, { balance_micros: null })).json.balance_micros, null);
    const { json: list } = await api.send('GET', `${PATH}/${id}/transactions`);
    assertSchema(listSchema(CreditTransaction), list);
    assert.deepEqual(
      list.data.map(({ kind, amount_micros, note }: CreditTransaction) => [kind, amount_micros, note]),
      [
        ['set', 100, 'Contract'],
        ['adjustment', 20, null],
        ['adjustment', -120, null],
        ['unlimited', 0, null],
      ],
    );
    const { json: log } = await api.send('GET', `/v1/admin/audit?organization_id=${id}`);
    assert.deepEqual(
      log.data.map(({ action, resource_id }: { action: string; resource_id: string }) => [action, resource_id]),
      list.data.map(({ id: resource, kind }: CreditTransaction) => [
        kind === 'adjustment' ? 'credit.adjusted' : 'credit.set',
        resource,
      ]),
    );
    const { json: page } = await api.send('GET', `${PATH}/${id}/transactions?limit=1&after=${list.data[0].id}`);
    assert.deepEqual([page.data, page.has_more], [[list.data[1]], true]);
  });

  it('a first and a lower balance hold in other processes before the response', async () => {
    const call = await limitedCall(api.db, null, null);
    const [notified, deaf] = [new TestProcess(api.db), new TestProcess(api.db)];
    await notified.lease.start();
    notified.credits.start();
    for (const { credits } of [notified, deaf]) {
      assert.equal(await credits.reserve(call, () => exactly(10)), null, 'unlimited');
    }
    const { organizationId } = call.caller;
    await deaf.lease.beat();
    let isSet = false;
    const first = set(organizationId, { balance_micros: 10_000 }).finally(() => {
      isSet = true;
    });
    await until(async () => (await balanceOf(organizationId)) === 10_000);
    assert.equal(isSet, false, 'a process may still be unlimited');
    await deaf.credits.giveBack();
    await first;
    for (const each of [notified, deaf]) {
      assert.equal((await each.reserve(call, exactly(100)))?.grantedMicros, 100);
      await each.settle(0, 0);
    }
    let isAnswered = false;
    const adjusted = adjust(organizationId, { amount_micros: -10_000 }).finally(() => {
      isAnswered = true;
    });
    await until(async () => (await balanceOf(organizationId)) === 0);
    assert.equal(isAnswered, false, 'a process may still use its lease');
    for (const _ of ['notices', 'ends its lease']) await deaf.credits.giveBack();
    await adjusted;
    for (const each of [notified, deaf]) assert.equal(await each.reserve(call, exactly(1)), null);
    for (const each of [notified, deaf]) await each.stop();
  });

  it('a repeated Idempotency-Key adds the credit once', async () => {
    const id = await makeOrganization('repeated');
    await setBalance(api.db.sql, id, 0, BY);
    const headers = { 'idempotency-key': 'invoice-1' };
    const first = await adjust(id, { amount_micros: 5 }, headers);
    assert.deepEqual((await adjust(id, { amount_micros: 5 }, headers)).json, first.json);
    assert.equal(await balanceOf(id), 5);
  });

  it('400 naming the field, 404 for an unknown organization', async () => {
    const id = await makeOrganization('refused');
    assertError(await adjust(id, { amount_micros: 1 }), 400, 'invalid_value', 'amount_micros');
    await setBalance(api.db.sql, id, 1, BY);
    assertError(await adjust(id, { amount_micros: -2 }), 400, 'invalid_value', 'amount_micros');
    assertError(await adjust(id, { amount_micros: Number.MAX_SAFE_INTEGER }), 400, 'invalid_value', 'amount_micros');
    assertError(await adjust(id, { amount_micros: 0.5 }), 400, 'invalid_value', 'amount_micros');
    assertError(await adjust(id, {}), 400, 'missing_required_field', 'amount_micros');
    assertError(await adjust(id, { amount_micros: 1, note: '' }), 400, 'invalid_value', 'note');
    assertError(await set(id, {}), 400, 'missing_required_field', 'balance_micros');
    assertError(await set(id, { balance_micros: -1 }), 400, 'invalid_value', 'balance_micros');
    const transactions = `${PATH}/${id}/transactions`;
    for (const query of ['limit=0', 'after=x']) {
      assertError(await api.send('GET', `${transactions}?${query}`), 400, 'invalid_value', query.split('=')[0]);
    }
    assert.equal(await balanceOf(id), 1);
    const { json: log } = await api.send('GET', `/v1/admin/audit?organization_id=${id}`);
    assert.equal(log.data.length, 0, 'a change that failed is not recorded');
    for (const unknown of ['x', newId('organization')]) {
      const answers = [
        await api.send('GET', `${PATH}/${unknown}`),
        await set(unknown, { balance_micros: 1 }),
        await adjust(unknown, { amount_micros: 1 }),
        await api.send('GET', `${PATH}/${unknown}/transactions`),
      ];
      for (const answer of answers) assertError(answer, 404, 'organization_not_found', 'organization_id');
    }
  });
});
