import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { assertError, useApi } from '../../test/harness.ts';
import { KEY_LIFETIMES, OVERLAP_SECONDS } from '../../test/support/awkward.ts';
import { holdStatement } from '../../test/support/hold-statement.ts';
import type { Database } from '../db/db.ts';
import { DEFAULT_ORGANIZATION } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { hashKey } from './api-key.ts';
import { Authenticator } from './authenticator.ts';
import { bootstrapAccounts } from './bootstrap.ts';
import {
  insertOrganization,
  selectApiKeyByHash,
  selectApiKeys,
  selectOrganizationByName,
  updateApiKey,
  updateLastUses,
} from './store.ts';
import { apiKeys } from './tables.ts';

/** The API may answer this late on a busy machine. */
const MARGIN_SECONDS = 10;

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

  it('accepts the scheme case-insensitively', async () => {
    assert.equal((await models({ authorization: `bearer ${api.key}` })).status, 200);
  });

  it('a revoked key is rejected within 3 seconds by every process, immediately by the revoking one', async () => {
    const { id, key } = await api.makeKey();
    let now = Date.now();
    const elsewhere = new Authenticator(api.db, () => now);
    const header = `Bearer ${key}`;
    await elsewhere.authenticate(header);
    assert.equal((await models({ authorization: header })).status, 200);
    await updateApiKey(api.db.sql, id, { revokedAt: new Date() });
    api.authenticator.evict();
    assertError(await models({ authorization: header }), 401, 'invalid_api_key');
    now += 3_000;
    await assert.rejects(async () => elsewhere.authenticate(header), { status: 401 });
  });

  it('a revoked key stops in every process when its notification arrives, and no running lookup brings it back', async (t) => {
    const { id, key } = await api.makeKey();
    const other = await api.makeKey();
    // Without a clock, no cached key expires: only the notification evicts one.
    let now = 0;
    const authenticator = new Authenticator(api.db, () => now);
    const use = async (secret: string) => authenticator.authenticate(`Bearer ${secret}`);
    // The first connection evicts all keys, which must not happen while the lookup below is held.
    await new Promise<void>((onGap) => api.db.listen('quire_api_keys', { onNotification: () => {}, onGap }));
    const unlisten = authenticator.followChanges();
    for (const each of [key, other.key]) await use(each);
    now = 3_000;
    const lookup = holdStatement(t, /from "api_keys" inner join/, { at: 'result' });
    const overtaken = use(key);
    await lookup.reached();
    now = 0;
    const isRejected = () =>
      use(key).then(
        () => false,
        () => true,
      );
    assert.equal(await isRejected(), false);
    await api.db.sql.transaction((sql) => updateApiKey(sql, id, { revokedAt: new Date() }));
    await until(isRejected);
    lookup.release();
    await overtaken;
    assert.equal(await isRejected(), true, 'a row that was read before the revocation was cached after it');
    await use(other.key);
    authenticator.evict(id);
    assert.ok(!(authenticator.authenticate(`Bearer ${other.key}`) instanceof Promise), 'other keys stay cached');
    unlisten();
  });

  it('an expired key is rejected, cached or not', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const { key } = await api.makeKey({ expiresAt });
    let now = Date.now();
    const authenticator = new Authenticator(api.db, () => now);
    await authenticator.authenticate(`Bearer ${key}`);
    now = expiresAt.getTime() - 1;
    await authenticator.authenticate(`Bearer ${key}`);
    now = expiresAt.getTime();
    assert.throws(() => authenticator.authenticate(`Bearer ${key}`), { status: 401 });
  });

  for (const { name, keySeconds, oldSecretSeconds } of KEY_LIFETIMES) {
    it(`both secrets of a rotated key ${name} work in another process until the overlap or the key ends`, async () => {
      const expiresAt = keySeconds === null ? null : new Date(Date.now() + keySeconds * 1_000);
      const { id, key } = await api.makeKey({ expiresAt });
      let now = Date.now();
      const elsewhere = new Authenticator(api.db, () => now);
      const unlisten = elsewhere.followChanges();
      const use = async (secret: string) => (await elsewhere.authenticate(`Bearer ${secret}`)).keyId;
      await use(key);
      const overlap = { overlap_seconds: OVERLAP_SECONDS };
      const { key: second } = (await api.send('POST', `/v1/admin/keys/${id}/rotate`, { body: overlap })).json;
      const rotatedAt = now;
      const secrets = [
        { secret: key, seconds: oldSecretSeconds },
        { secret: second, seconds: keySeconds ?? 86_400 },
      ];
      for (const { secret, seconds } of secrets) {
        now = rotatedAt + (seconds - MARGIN_SECONDS) * 1_000;
        assert.equal(await use(secret), id);
        now = rotatedAt + (seconds + MARGIN_SECONDS) * 1_000;
        if (secret === second && keySeconds === null) assert.equal(await use(secret), id);
        else await assert.rejects(use(secret), /expired/);
      }
      now = rotatedAt;
      elsewhere.evict();
      for (const { secret } of secrets) assert.equal(await use(secret), id);
      await api.send('POST', `/v1/admin/keys/${id}/revoke`);
      const isRejected = ({ secret }: { secret: string }) =>
        use(secret).then(
          () => false,
          () => true,
        );
      await until(async () => (await Promise.all(secrets.map(isRejected))).every(Boolean));
      unlisten();
    });
  }

  it('changed limits of an organization reach cached keys in another process', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'limited' });
    const elsewhere = new Authenticator(api.db, () => 0);
    const unlisten = elsewhere.followChanges();
    const concurrent = async () => (await elsewhere.authenticate(`Bearer ${key}`)).organizationLimits?.concurrent;
    assert.equal(await concurrent(), undefined);
    await api.send('PATCH', `/v1/admin/organizations/${organizationId}`, { body: { limits: { concurrent: 2 } } });
    await until(async () => (await concurrent()) === 2);
    unlisten();
  });

  it('last uses are written in one statement, and never move back', async () => {
    const keys = [await api.makeKey(), await api.makeKey()];
    let now = Date.now();
    const authenticator = new Authenticator(api.db, () => now);
    const lastUses = async () => {
      const rows = await selectApiKeys(api.db.sql, { organizationId: null }, { limit: 1000, after: null });
      return keys.map(({ id }) => rows.find((row) => row.id === id)?.lastUsedAt?.getTime());
    };
    for (const { key } of keys) await authenticator.authenticate(`Bearer ${key}`);
    await authenticator.writeLastUses();
    assert.deepEqual(await lastUses(), [now, now]);
    now -= 60_000;
    await authenticator.authenticate(`Bearer ${keys[0]?.key}`);
    await authenticator.writeLastUses();
    assert.deepEqual(await lastUses(), [now + 60_000, now + 60_000]);
  });

  it('only the SHA-256 of a key is stored', async () => {
    const rows = await selectApiKeys(api.db.sql, { organizationId: null }, { limit: 100, after: null });
    assert.doesNotMatch(JSON.stringify(rows), new RegExp(api.key.slice(9)));
    assert.equal((await selectApiKeyByHash(api.db.sql, hashKey(api.key)))?.row.hint, api.key.slice(-4));
  });

  it('keys are listed only for their organization', async () => {
    const { id } = await api.makeKey({ organization: 'other' });
    const [row] = await selectApiKeys(api.db.sql, { organizationId: null }, { limit: 100, after: id.slice(0, -1) });
    const ofDefault = await selectApiKeys(api.db.sql, { organizationId: 'org_none' }, { limit: 100, after: null });
    assert.equal(row?.id, id);
    assert.deepEqual(ofDefault, []);
  });

  it('an organization name is unique', async () => {
    assert.equal(await insertOrganization(api.db.sql, 'org_twin', 'twin'), true);
    assert.equal(await insertOrganization(api.db.sql, 'org_other', 'twin'), false);
    assert.equal((await selectOrganizationByName(api.db.sql, 'twin'))?.id, 'org_twin');
  });

  for (const hasOrganization of [false, true]) {
    it(`services that start together create one key, ${hasOrganization ? 'with' : 'without'} a default organization`, async () => {
      const db = await openTestDatabase();
      try {
        if (hasOrganization) await insertOrganization(db.sql, newId('organization'), DEFAULT_ORGANIZATION);
        const starts = Array.from({ length: 8 }, () => bootstrapAccounts({ db }, null));
        const created = (await Promise.all(starts)).filter((key) => key?.secret != null);
        assert.equal(created.length, 1);
        assert.equal((await db.sql.select().from(apiKeys)).length, 1);
      } finally {
        await db.close();
      }
    });
  }

  it('a start of an instance with keys creates none, and names the oldest until one has been used', async () => {
    await api.db.sql.update(apiKeys).set({ lastUsedAt: null });
    const unused = await bootstrapAccounts(api, null);
    assert.ok(unused !== null && unused.secret === null);
    assert.ok(
      (await selectApiKeys(api.db.sql, { organizationId: null }, { limit: 100, after: null })).every(
        ({ id }) => id >= unused.id,
      ),
    );
    const { id } = await api.makeKey();
    await updateLastUses(api.db.sql, new Map([[id, Date.now()]]));
    assert.equal(await bootstrapAccounts(api, null), null);
  });

  /** Creates an authenticator and counts its queries. */
  const counted = () => {
    let queries = 0;
    const counting = new Proxy(api.db.sql, {
      get: (target, name, self) => {
        if (name === 'select') queries += 1;
        return Reflect.get(target, name, self);
      },
    });
    return { authenticator: new Authenticator({ ...api.db, sql: counting }), queries: () => queries };
  };

  it('concurrent requests share one lookup of a key', async () => {
    const { key } = await api.makeKey();
    const { authenticator, queries } = counted();
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(`Bearer ${key}`)));
    assert.equal(queries(), 1);
  });

  it('does not look up malformed keys: another prefix, or more than 256 characters', async () => {
    const { authenticator, queries } = counted();
    for (const key of ['sk-other', `quire-sk-${'x'.repeat(248)}`, `sk-${'x'.repeat(254)}`]) {
      assert.throws(() => authenticator.authenticate(`Bearer ${key}`), { status: 401 });
    }
    assert.equal(queries(), 0);
    const longest = `quire-sk-${'x'.repeat(247)}`;
    await assert.rejects(async () => authenticator.authenticate(`Bearer ${longest}`), { status: 401 });
    assert.equal(queries(), 1);
  });
});

describe('key cache of the authenticator', () => {
  /** A database that contains every key, and counts queries. */
  function anyKey() {
    let queries = 0;
    const row = { id: 'key_1', organizationId: 'org_1', scopes: [], models: null, expiresAt: null, revokedAt: null };
    const select = () => {
      queries += 1;
      return { from: () => ({ innerJoin: () => ({ where: async () => [{ row, organizationLimits: null }] }) }) };
    };
    return { db: { sql: { select } } as unknown as Database, queries: () => queries };
  }

  it('holds at most 10,000 keys and evicts the oldest', async () => {
    let now = 0;
    const { db, queries } = anyKey();
    const authenticator = new Authenticator(db, () => now);
    const use = async (name: number) => authenticator.authenticate(`Bearer quire-sk-${name}`);
    for (let name = 0; name < 10_000; name += 1) await use(name);
    now = 3_000;
    await use(0);
    await use(10_000);
    assert.equal(queries(), 10_002);
    await use(0);
    assert.equal(queries(), 10_002, 'read again a moment ago');
    now = 2_999;
    await use(2);
    assert.equal(queries(), 10_002);
    await use(1);
    assert.equal(queries(), 10_003, 'the oldest has gone');
  });
});
