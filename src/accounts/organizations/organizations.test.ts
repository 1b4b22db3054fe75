import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { openUserSession, type SignedIn } from '../../../test/support/open-session.ts';
import { setBalance } from '../../billing/credits.ts';
import { listSchema } from '../../db/page.ts';
import { SCOPES } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { hashPassword } from '../../users/password.ts';
import { addKey } from '../add-key.ts';
import { apiKeys } from '../tables.ts';
import { DeletedOrganization, Organization } from './schema.ts';

const api = useApi();
const PATH = '/v1/admin/organizations';
const create = (body: object) => api.send('POST', PATH, { body });
const limits = { requests_per_minute: 5, tokens_per_minute: null, concurrent: null };
const unknownIds = () => ['x', newId('organization')];

describe('/v1/admin/organizations', () => {
  it('creates, gets and changes an organization, and records the changes', async () => {
    const { status, json } = await create({ name: 'acme', limits: { requests_per_minute: 5 } });
    assert.equal(status, 200);
    assertSchema(Organization, json);
    assert.deepEqual([json.name, json.limits, json.balance_micros], ['acme', limits, null]);
    assert.deepEqual((await api.send('GET', `${PATH}/${json.id}`)).json, json);
    const changed = await api.send('PATCH', `${PATH}/${json.id}`, { body: { name: 'acme 2', limits: null } });
    assert.deepEqual(changed.json, { ...json, name: 'acme 2', limits: null });
    assert.deepEqual((await api.send('PATCH', `${PATH}/${json.id}`, { body: {} })).json, changed.json);
    const { data } = (await api.send('GET', `/v1/admin/audit?resource_id=${json.id}&limit=2`)).json;
    assert.deepEqual([data[0].action, data[1].action], ['organization.created', 'organization.updated']);
    assert.deepEqual(data[1].changes, [
      { field: 'name', from: 'acme', to: 'acme 2' },
      { field: 'limits', from: limits, to: null },
    ]);
  });

  it('limits of an organization bound its keys and its sessions at once, and no other organization', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'bound' });
    const other = await api.makeKey({ organization: 'unbound' });
    const member = await openUserSession(api, [organizationId, other.organizationId]);
    const stranger = await openUserSession(api, [other.organizationId]);
    const read = async () => {
      const answers = [
        await api.send('GET', '/v1/models', { key }),
        await member.send('GET', '/v1/models'),
        await api.send('GET', '/v1/models', { key: other.key }),
        await stranger.send('GET', '/v1/models'),
      ];
      return answers.map(({ headers }) => headers.get('x-ratelimit-limit-requests'));
    };
    const before = await read();
    await api.send('PATCH', `${PATH}/${organizationId}`, { body: { limits } });
    assert.deepEqual(await read(), ['5', '5', ...before.slice(2)]);
    await api.send('PATCH', `${PATH}/${organizationId}`, { body: { limits: null } });
    assert.deepEqual(await read(), before);
  });

  it('lists organizations in pages, or the one of a name', async () => {
    const { json: a } = await create({ name: 'list a' });
    const { json: b } = await create({ name: 'list b' });
    const { json } = await api.send('GET', `${PATH}?limit=1&after=${a.id}`);
    assertSchema(listSchema(Organization), json);
    assert.deepEqual(json.data, [b]);
    assert.deepEqual((await api.send('GET', `${PATH}?name=list%20a`)).json.data, [a]);
    assert.deepEqual((await api.send('GET', `${PATH}?name=nobody`)).json.data, []);
    assert.deepEqual((await api.send('GET', `${PATH}?search=LIST`)).json.data, [a, b]);
    assertError(await api.send('GET', `${PATH}?search=`), 400, 'invalid_value', 'search');
  });

  it('deletes an organization: its keys fail at once, its name is free, and the deletion is audited once', async () => {
    const { id, key, organizationId } = await api.makeKey({ organization: 'ending' });
    const { id: earlier } = await api.makeKey({ organization: 'ending' });
    const { json: revoked } = await api.send('POST', `/v1/admin/keys/${earlier}/revoke`);
    const revokedAt = new Date(revoked.revoked_at * 1000 - 60_000);
    await api.db.sql.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, earlier));
    await setBalance(api.db.sql, organizationId, 70, { actor: 'test', note: null });
    assert.equal((await api.send('GET', '/v1/models', { key })).status, 200);
    const path = `${PATH}/${organizationId}`;
    for (let run = 0; run < 2; run += 1) {
      const { status, json } = await api.send('DELETE', path);
      assert.equal(status, 200);
      assertSchema(DeletedOrganization, json);
      assertError(await api.send('GET', '/v1/models', { key }), 401, 'invalid_api_key');
    }
    assert.notEqual((await api.send('GET', `/v1/admin/keys/${id}`)).json.revoked_at, null);
    const kept = (await api.send('GET', `/v1/admin/keys/${earlier}`)).json.revoked_at;
    assert.equal(kept, Math.floor(revokedAt.getTime() / 1000), 'an earlier revocation keeps its time');
    // Created by a request that has read the organization before it was deleted.
    const unlimited = { models: null, limits: null, budget: null, expiresAt: null };
    const { secret: late } = await addKey(api.db.sql, { organizationId, name: 'late', scopes: SCOPES, ...unlimited });
    assertError(await api.send('GET', '/v1/models', { key: late }), 401, 'invalid_api_key');
    const { data } = (await api.send('GET', `/v1/admin/audit?action=organization.deleted`)).json;
    assert.deepEqual(
      data.map(({ changes }: { changes: object }) => changes),
      [
        [
          { field: 'name', from: 'ending' },
          { field: 'balance_micros', from: 70 },
        ],
      ],
    );
    for (const gone of [path, `/v1/admin/credits/${organizationId}`]) {
      assertError(await api.send('GET', gone), 404, 'organization_not_found', 'organization_id');
    }
    assertError(await api.send('PATCH', path, { body: {} }), 404, 'organization_not_found', 'organization_id');
    const body = { organization_id: organizationId };
    assertError(await api.send('POST', '/v1/admin/keys', { body }), 404, 'organization_not_found', 'organization_id');
    assert.deepEqual((await api.send('GET', `${PATH}?name=ending`)).json.data, []);
    assert.equal((await create({ name: 'ending' })).status, 200);
  });

  it('a deleted organization ends for its members at once: nobody signs in to it, sees it or switches to it', async () => {
    const [gone, kept] = [
      (await api.makeKey({ organization: 'a first one' })).organizationId,
      (await api.makeKey({ organization: 'b second one' })).organizationId,
    ];
    const cost = { N: 16, r: 1, p: 1 };
    const options = { passwordHash: await hashPassword('correct horse', cost) };
    const [inBoth, inOne] = [
      await openUserSession(api, [kept, gone], options),
      await openUserSession(api, [gone], options),
    ];
    const signIn = ({ email }: SignedIn) =>
      api.send('POST', '/v1/session', { key: null, body: { email, password: 'correct horse' } });
    assert.equal((await signIn(inBoth)).json.organization.id, gone, 'the first by name');
    await api.send('DELETE', `${PATH}/${gone}`);
    assert.equal((await signIn(inBoth)).json.organization.id, kept);
    const { json } = await inBoth.send('GET', '/v1/session');
    assert.deepEqual(
      json.organizations.map(({ id }: { id: string }) => id),
      [kept],
    );
    const change = await inBoth.send('PATCH', '/v1/session', { organization_id: gone });
    assertError(change, 404, 'organization_not_found', 'organization_id');
    assertError(await inOne.send('GET', '/v1/session'), 401, 'invalid_session');
    assertError(await signIn(inOne), 401, 'invalid_credentials');
  });

  it('deletes neither the default organization nor the one of the calling key, and needs the scope admin', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'own' });
    const [standard] = (await api.send('GET', `${PATH}?name=default`)).json.data;
    for (const id of [standard.id, organizationId]) {
      assertError(await api.send('DELETE', `${PATH}/${id}`, { key }), 400, 'invalid_value', 'organization_id');
      assert.equal((await api.send('GET', `${PATH}/${id}`, { key })).status, 200);
    }
    const { key: lesser } = await api.makeKey({ scopes: ['keys'] });
    const path = `${PATH}/${organizationId}`;
    assertError(await api.send('DELETE', path, { key: lesser }), 403, 'insufficient_scope');
    assertError(await api.send('DELETE', path, { key: null }), 401, 'invalid_api_key');
  });

  it('400 naming the field, 404 for an unknown organization', async () => {
    const { json } = await create({ name: 'taken' });
    const { json: other } = await create({ name: 'other' });
    assertError(await create({}), 400, 'missing_required_field', 'name');
    const wrong: [object, string][] = [
      [{ name: 'taken' }, 'name'],
      [{ name: '' }, 'name'],
      [{ name: '-x' }, 'name'],
      [{ name: 'x'.repeat(65) }, 'name'],
      [{ name: 'new', limits: { concurrent: 0 } }, 'limits.concurrent'],
    ];
    for (const [body, param] of wrong) {
      assertError(await create(body), 400, 'invalid_value', param);
      assertError(await api.send('PATCH', `${PATH}/${other.id}`, { body }), 400, 'invalid_value', param);
    }
    assert.deepEqual((await api.send('GET', `${PATH}/${json.id}`)).json, json);
    for (const query of ['limit=0', 'after=x', 'name=%00']) {
      assertError(await api.send('GET', `${PATH}?${query}`), 400, 'invalid_value', query.split('=')[0]);
    }
    for (const id of unknownIds()) {
      assertError(await api.send('GET', `${PATH}/${id}`), 404, 'organization_not_found', 'organization_id');
      assertError(await api.send('DELETE', `${PATH}/${id}`), 404, 'organization_not_found', 'organization_id');
      const change = await api.send('PATCH', `${PATH}/${id}`, { body: {} });
      assertError(change, 404, 'organization_not_found', 'organization_id');
    }
  });
});

describe('GET /v1/admin/usage', () => {
  it('adds up all organizations, or one, as JSON and CSV', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'using' });
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'a' }], max_tokens: 1 };
    for (const each of [key, api.key]) await api.send('POST', '/v1/chat/completions', { body, key: each });
    const { json } = await api.send('GET', '/v1/admin/usage?group_by=organization,model,key,route');
    assert.equal(json.data.length, 2, JSON.stringify(json));
    const { json: one } = await api.send('GET', `/v1/admin/usage?organization_id=${organizationId}`);
    assert.deepEqual(
      one.data.map((row: { organization_id: string; requests: number }) => [row.organization_id, row.requests]),
      [[organizationId, 1]],
    );
    const { text } = await api.send('GET', '/v1/admin/usage?format=csv');
    assert.equal(text.trim().split('\r\n').length, 3);
    assertError(await api.send('GET', '/v1/admin/usage?group_by=x'), 400, 'invalid_value', 'group_by');
  });
});
