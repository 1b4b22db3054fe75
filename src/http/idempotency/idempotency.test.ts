import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Type } from 'typebox';
import { until } from '../../../test/deadline.ts';
import { assertError, useApi } from '../../../test/harness.ts';
import { invalidValue } from '../../errors.ts';
import { ProcessLease } from '../../leases/process-lease.ts';
import { createLogger } from '../../lib/logger.ts';
import { KEY_LIFETIME_MS, pruneIdempotencyKeys } from './idempotency.ts';
import { claimKey, releaseKey, storeResponse } from './store.ts';

const logger = createLogger('silent');

describe('Idempotency-Key', () => {
  let made = 0;
  let gate: Promise<void> = Promise.resolve();
  const api = useApi({
    extend: (app) => {
      const body = Type.Object({ name: Type.String() });
      app.post('/v1/things', { schema: { body }, config: { idempotent: true } }, async (request) => {
        await gate;
        if (request.body.name === 'broken') throw new Error('fault');
        if (request.body.name === 'refused') throw invalidValue('name', 'is not nice');
        made += 1;
        return { id: `thing_${made}`, name: request.body.name };
      });
      for (const method of ['POST', 'PUT'] as const) {
        const config = { idempotent: true } as const;
        app.route({ method, url: '/v1/things/other', schema: { body }, config, handler: async () => ({ method }) });
      }
    },
  });
  const make = (name: string, idempotencyKey: string, key = api.key) =>
    api.send('POST', '/v1/things', { body: { name }, key, headers: { 'idempotency-key': idempotencyKey } });

  it('replays the first response without executing the request again', async () => {
    const first = await make('a', 'k1');
    const second = await make('a', 'k1');
    assert.deepEqual(second.json, first.json);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.equal(first.headers.get('idempotent-replayed'), null);
    assert.equal((await make('a', 'k2')).json.id, 'thing_2');
  });

  it('replays client errors; server errors can be retried', async () => {
    assertError(await make('refused', 'k3'), 400, 'invalid_value', 'name');
    const again = await make('refused', 'k3');
    assertError(again, 400, 'invalid_value', 'name');
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assertError(await make('broken', 'k4'), 500, 'server_error');
    const retried = await make('broken', 'k4');
    assertError(retried, 500, 'server_error');
    assert.equal(retried.headers.get('idempotent-replayed'), null);
  });

  it('409 for the same body and key at another path, query or method', async () => {
    await make('a', 'k0');
    const headers = { 'idempotency-key': 'k0' };
    const send = (method: string, path: string) => api.send(method, path, { body: { name: 'a' }, headers });
    for (const path of ['/v1/things/other', '/v1/things?name=a']) {
      assertError(await send('POST', path), 409, 'idempotency_conflict');
    }
    headers['idempotency-key'] = 'k00';
    assert.equal((await send('POST', '/v1/things/other')).status, 200);
    assertError(await send('PUT', '/v1/things/other'), 409, 'idempotency_conflict');
  });

  it('409 for another body under the same key, and while the first still runs', async () => {
    await make('a', 'k5');
    const other = await make('b', 'k5');
    assertError(other, 409, 'idempotency_conflict');
    assert.equal(other.headers.get('x-should-retry'), 'false');
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = make('c', 'k6');
    // A rejected repetition proves that the first use has claimed its key.
    let repeat = await make('other', 'k5');
    while (repeat.json.error?.message.includes('still running') !== true) {
      const racing = make('c', 'k6');
      repeat = await Promise.race([racing, first]);
    }
    assertError(repeat, 409, 'idempotency_conflict');
    open();
    assert.equal((await first).status, 200);
  });

  it('belongs to one organization', async () => {
    const first = await make('a', 'k7');
    const { key } = await api.makeKey({ organization: 'other' });
    const foreign = await make('a', 'k7', key);
    assert.notEqual(foreign.json.id, first.json.id);
    assert.deepEqual((await make('a', 'k7')).json, first.json, "another organization's answer does not replace it");
    assert.deepEqual((await make('a', 'k7', key)).json, foreign.json);
  });

  it('400 for a key that is too long', async () => {
    assertError(await make('a', 'x'.repeat(256)), 400, 'invalid_value', 'Idempotency-Key');
    assert.equal((await make('a', 'x'.repeat(255))).status, 200);
  });

  it('expires after 24 hours', async () => {
    const first = await make('a', 'k8');
    await pruneIdempotencyKeys({ db: api.db, now: () => Date.now() + KEY_LIFETIME_MS - 60_000 });
    assert.equal((await make('a', 'k8')).json.id, first.json.id);
    await pruneIdempotencyKeys({ db: api.db, now: () => Date.now() + KEY_LIFETIME_MS + 60_000 });
    assert.notEqual((await make('a', 'k8')).json.id, first.json.id);
  });

  it('can be used again when its process has ended; one that was only slow changes nothing then', async () => {
    const { db } = api;
    const { sql } = db;
    const [slow, other] = [new ProcessLease({ db, logger }), new ProcessLease({ db, logger })];
    await Promise.all([slow.beat(), other.beat()]);
    const use = (fingerprint: string, { id: processId } = other) => ({
      ...{ organizationId: 'org_lost', key: 'k', fingerprint, processId },
      claimedAt: new Date(1_800_000_000_000 + Number.parseInt(fingerprint, 36)),
    });
    const age = (seconds: number) =>
      db.execute(`update processes set renewed_at = now() - ${seconds} * interval '1 second' where id = '${slow.id}'`);
    assert.equal(await claimKey(sql, use('a', slow)), null);
    await age(25);
    assert.equal((await claimKey(sql, use('b')))?.status, null);
    await age(31);
    await slow.beat();
    assert.equal((await claimKey(sql, use('b')))?.fingerprint, 'a');
    await age(31);
    assert.equal(await claimKey(sql, use('b')), null);
    assert.equal((await claimKey(sql, use('c')))?.fingerprint, 'b');
    await storeResponse(sql, use('a', slow), 200, 'slow');
    await releaseKey(sql, use('a', slow));
    assert.equal((await claimKey(sql, use('c')))?.status, null);
    await storeResponse(sql, use('b'), 200, 'second');
    await releaseKey(sql, use('b'));
    await other.stop();
    assert.equal((await claimKey(sql, use('c', slow)))?.body, 'second');
  });

  it('can be used again when the database was away at the end of its first request', async (t) => {
    const outage = () => {
      throw new Error('no database');
    };
    const mocks = (['update', 'delete'] as const).map((method) => t.mock.method(api.db.sql, method, outage));
    assert.equal((await make('a', 'k10')).status, 500);
    assertError(await make('a', 'k10'), 409, 'idempotency_conflict');
    for (const { mock } of mocks) mock.restore();
    await until(async () => (await make('a', 'k10')).status === 200);
  });

  it('is ignored by inference routes', async () => {
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };
    const send = () => api.send('POST', '/v1/chat/completions', { body, headers: { 'idempotency-key': 'k9' } });
    assert.notEqual((await send()).json.id, (await send()).json.id);
  });
});
