import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, assertError, useApi } from '../../../test/harness.ts';
import type { Scope } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';

const api = useApi();
const PATH = '/v1/admin/keys';
const SCOPES: Scope[] = ['keys', 'files', 'inference'];

/** A key with the scope `keys`, without `admin`. */
const makeManager = (wanted: object = {}) => api.makeKey({ organization: 'managed', scopes: SCOPES, ...wanted });
const withoutId = (answer: Answer, id: string) => answer.text.replaceAll(id, 'ID');

describe('a key with the scope keys', () => {
  it('manages the keys of its organization', async () => {
    const { key, organizationId } = await makeManager();
    const made = await api.send('POST', PATH, { key, body: { scopes: ['files'], organization_id: organizationId } });
    assert.equal(made.status, 200, made.text);
    const { id } = made.json;
    const changes: [string, string, object?][] = [
      ['PATCH', `${PATH}/${id}`, { name: 'b', scopes: ['inference', 'keys'] }],
      ['POST', `${PATH}/${id}/rotate`, {}],
      ['POST', `${PATH}/${id}/revoke`],
      ['GET', `${PATH}/${id}`],
    ];
    for (const [method, path, body] of changes) {
      assert.equal((await api.send(method, path, { key, body })).status, 200, `${method} ${path}`);
    }
    const { json } = await api.send('GET', `${PATH}?organization_id=${organizationId}`, { key });
    assert.ok(json.data.length >= 2);
    const { json: all } = await api.send('GET', `${PATH}?limit=100`, { key });
    assert.ok(all.data.every((each: { organization_id: string }) => each.organization_id === organizationId));
  });

  it('a new key gets its restrictions where the request is silent', async () => {
    const restrictions = {
      models: ['general-8b'],
      limits: { requestsPerMinute: 5, tokensPerMinute: null, concurrent: null },
      budget: { period: 'day', limitMicros: 9, softLimitMicros: null },
      expiresAt: new Date((Math.floor(Date.now() / 1000) + 600) * 1000),
    };
    const { key, id } = await makeManager(restrictions);
    const { json } = await api.send('POST', PATH, { key, body: {} });
    const { json: own } = await api.send('GET', `${PATH}/${id}`, { key });
    assert.deepEqual(json.scopes, ['inference', 'files']);
    for (const field of ['models', 'limits', 'budget', 'expires_at']) assert.deepEqual(json[field], own[field], field);
    assert.deepEqual(own.budget, { period: 'day', limit_micros: 9, soft_limit_micros: null });
  });

  it('another organization is as unknown as one that does not exist', async () => {
    const { key } = await makeManager();
    const foreign = await api.makeKey({ organization: 'not-managed', scopes: ['files'] });
    const before = await api.send('GET', `${PATH}/${foreign.id}`);
    const requests: [string, (id: string) => string, object?][] = [
      ['GET', (id) => `${PATH}/${id}`],
      ['PATCH', (id) => `${PATH}/${id}`, { name: 'taken' }],
      ['POST', (id) => `${PATH}/${id}/rotate`, {}],
      ['POST', (id) => `${PATH}/${id}/revoke`],
    ];
    const unknown = newId('apiKey');
    for (const [method, path, body] of requests) {
      const answer = await api.send(method, path(foreign.id), { key, body });
      assertError(answer, 404, 'api_key_not_found', 'key_id');
      assert.equal(
        withoutId(answer, foreign.id),
        withoutId(await api.send(method, path(unknown), { key, body }), unknown),
      );
    }
    const nowhere = newId('organization');
    for (const send of [
      (id: string) => api.send('GET', `${PATH}?organization_id=${id}`, { key }),
      (id: string) => api.send('POST', PATH, { key, body: { organization_id: id } }),
    ]) {
      const answer = await send(foreign.organizationId);
      assertError(answer, 404, 'organization_not_found', 'organization_id');
      assert.equal(withoutId(answer, foreign.organizationId), withoutId(await send(nowhere), nowhere));
    }
    assert.deepEqual((await api.send('GET', `${PATH}/${foreign.id}`)).json, before.json);
  });

  it('gives no right that it lacks to a new key or to itself', async () => {
    const expiresAt = new Date(Date.now() + 600_000);
    const budget = { period: 'month', limitMicros: 100, softLimitMicros: null };
    const limits = { requestsPerMinute: 50, tokensPerMinute: null, concurrent: null };
    const { id, key } = await makeManager({ models: ['general-8b'], expiresAt, budget, limits });
    const attempts: [object, string][] = [
      [{ scopes: ['admin'] }, 'scopes.0'],
      [{ scopes: ['files', 'keys', 'admin'] }, 'scopes.2'],
      [{ scopes: ['files', 'knowledge'] }, 'scopes.1'],
      [{ models: null }, 'models'],
      [{ models: ['general-8b', 'general-70b'] }, 'models.1'],
      [{ limits: null }, 'limits.requests_per_minute'],
      [{ limits: { requests_per_minute: 51 } }, 'limits.requests_per_minute'],
      [{ limits: { requests_per_minute: 50, concurrent: 1e9 } }, 'limits.concurrent'],
      [{ budget: null }, 'budget'],
      [{ budget: { period: 'month', limit_micros: 101 } }, 'budget'],
      [{ budget: { period: 'day', limit_micros: 100 } }, 'budget'],
      [{ expires_at: null }, 'expires_at'],
      [{ expires_in: 3_600 }, 'expires_at'],
    ];
    for (const [body, param] of attempts) {
      assertError(await api.send('POST', PATH, { key, body }), 403, 'insufficient_scope', param);
      assertError(await api.send('PATCH', `${PATH}/${id}`, { key, body }), 403, 'insufficient_scope', param);
    }
  });

  it('does not take over, change or revoke a key with more rights', async () => {
    const { key } = await makeManager({ models: ['general-8b'] });
    const admin = await makeManager({ scopes: ['admin', ...SCOPES], models: ['general-8b'] });
    const wider = await makeManager();
    for (const { id } of [admin, wider]) {
      for (const [method, path, body] of [
        ['PATCH', `${PATH}/${id}`, { scopes: ['files'], models: ['general-8b'] }],
        ['POST', `${PATH}/${id}/rotate`, { overlap_seconds: 60 }],
      ] as const) {
        assertError(await api.send(method, path, { key, body }), 403, 'insufficient_scope', 'key_id');
      }
    }
    const revoke = (id: string) => api.send('POST', `${PATH}/${id}/revoke`, { key });
    assertError(await revoke(admin.id), 403, 'insufficient_scope', 'key_id');
    assert.equal((await revoke(wider.id)).status, 200);
  });

  it('has the rights of the present, not those of its cached row', async () => {
    const { id, key } = await makeManager();
    await api.send('GET', PATH, { key });
    await api.db.execute("update api_keys set scopes = '{keys}' where id = $1", [id]);
    const answer = await api.send('POST', PATH, { key, body: { scopes: ['files'] } });
    assertError(answer, 403, 'insufficient_scope', 'scopes.0');
  });

  it('cannot use any other route of the admin API', async () => {
    const { key, organizationId } = await makeManager();
    const routes: [string, string, object?][] = [
      ['POST', '/v1/admin/organizations', { name: 'new' }],
      ['GET', '/v1/admin/organizations'],
      ['GET', `/v1/admin/organizations/${organizationId}`],
      ['PATCH', `/v1/admin/organizations/${organizationId}`, { limits: null }],
      ['GET', `/v1/admin/credits/${organizationId}`],
      ['PUT', `/v1/admin/credits/${organizationId}`, { balance_micros: null }],
      ['POST', `/v1/admin/credits/${organizationId}/transactions`, { amount_micros: 1 }],
      ['GET', `/v1/admin/credits/${organizationId}/transactions`],
      ['GET', '/v1/admin/usage'],
      ['GET', '/v1/admin/audit'],
      ['GET', '/v1/admin/cache/stats'],
    ];
    for (const [method, path, body] of routes) {
      assertError(await api.send(method, path, { key, body }), 403, 'insufficient_scope');
      assertError(await api.send(method, path, { key: null, body }), 401, 'invalid_api_key');
    }
  });
});
