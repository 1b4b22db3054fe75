import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, useApi } from '../../test/harness.ts';
import { Authenticator } from './authenticator.ts';
import { firstStart } from './first-start.ts';
import { hashKey } from './key-format.ts';
import { selectApiKeyByHash, selectApiKeys, updateRevoked } from './store.ts';

describe('API keys', () => {
  const api = useApi();
  const models = (headers: Record<string, string>) => api.send('GET', '/v1/models', { key: null, headers });

  it('401 for a header that is absent, malformed, of another scheme, or of an unknown key', async () => {
    const wrong = [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${api.key}`,
      `Bearer ${api.key} x`,
      'Bearer sk-other',
      `Bearer ${api.key}x`,
    ];
    for (const authorization of wrong) assertError(await models({ authorization }), 401, 'invalid_api_key');
    assertError(await models({ authorization: `Bearer quire-sk-${'x'.repeat(5000)}` }), 401, 'invalid_api_key');
  });

  it('takes the scheme in any case', async () => {
    assert.equal((await models({ authorization: `bearer ${api.key}` })).status, 200);
  });

  it('a revoked key stops within 3 seconds in every process, and at once in the one that revoked it', async () => {
    const { id, key } = await api.makeKey();
    let now = Date.now();
    const elsewhere = new Authenticator(api.db, () => now);
    const header = `Bearer ${key}`;
    await elsewhere.authenticate(header);
    assert.equal((await models({ authorization: header })).status, 200);
    await updateRevoked(api.db.sql, id, new Date());
    api.authenticator.forget();
    assertError(await models({ authorization: header }), 401, 'invalid_api_key');
    now += 3_000;
    await assert.rejects(async () => elsewhere.authenticate(header), { status: 401 });
  });

  it('an expired key stops at its time, looked up or not', async () => {
    const { key } = await api.makeKey({ expiresInSeconds: 60 });
    const { createdAt, expiresAt } = (await selectApiKeyByHash(api.db.sql, hashKey(key))) ?? {};
    assert.ok(createdAt && expiresAt);
    assert.equal(expiresAt.getTime() - createdAt.getTime(), 60_000);
    let now = Date.now();
    const authenticator = new Authenticator(api.db, () => now);
    await authenticator.authenticate(`Bearer ${key}`);
    now = expiresAt.getTime() - 1;
    await authenticator.authenticate(`Bearer ${key}`);
    now = expiresAt.getTime();
    assert.throws(() => authenticator.authenticate(`Bearer ${key}`), { status: 401 });
  });

  it('only the SHA-256 of a key is stored', async () => {
    const rows = await selectApiKeys(api.db.sql, null, { limit: 100, after: null });
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(api.key.slice(9)));
    assert.equal((await selectApiKeyByHash(api.db.sql, hashKey(api.key)))?.hint, api.key.slice(-4));
  });

  it('keys of one organization are listed for no other', async () => {
    const { id } = await api.makeKey({ organization: 'other' });
    const [row] = await selectApiKeys(api.db.sql, null, { limit: 100, after: id.slice(0, -1) });
    const ofDefault = await selectApiKeys(api.db.sql, 'org_none', { limit: 100, after: null });
    assert.equal(row?.id, id);
    assert.deepEqual(ofDefault, []);
  });

  it('a start on an instance that has keys makes none', async () => {
    assert.equal(await firstStart({ db: api.db }, null), null);
  });

  it('looks a key up once for many requests that come together', async () => {
    const { key } = await api.makeKey();
    let queries = 0;
    const counting = new Proxy(api.db.sql, {
      get: (target, name, self) => {
        if (name === 'select') queries += 1;
        return Reflect.get(target, name, self);
      },
    });
    const authenticator = new Authenticator({ ...api.db, sql: counting });
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(`Bearer ${key}`)));
    assert.equal(queries, 1);
  });
});
