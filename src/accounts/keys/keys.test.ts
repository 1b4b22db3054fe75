import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { type Answer, assertError, assertSchema, useApi } from '../../../test/harness.ts';
import { keySpend } from '../../billing/tables.ts';
import { listSchema } from '../../db/page.ts';
import { newId } from '../../lib/ids.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import { parseProperties } from './parse-properties.ts';
import { ApiKey, ApiKeyWithSecret } from './schema.ts';

const api = useApi();
const PATH = '/v1/admin/keys';
const create = (body: object = {}, key = api.key) => api.send('POST', PATH, { body, key });
const created = async (body: object = {}): Promise<ApiKeyWithSecret> => (await create(body)).json;
const patch = (id: string, body: object, key = api.key) => api.send('PATCH', `${PATH}/${id}`, { body, key });
const rotate = (id: string, body: object = {}, key = api.key) =>
  api.send('POST', `${PATH}/${id}/rotate`, { body, key });
const revoke = (id: string, key = api.key) => api.send('POST', `${PATH}/${id}/revoke`, { key });
const statusOf = async (key: string) => (await api.send('GET', '/v1/models', { key })).status;
const eventsOf = async (id: string) =>
  (await api.send('GET', `/v1/admin/audit?resource_id=${id}`)).json.data.map(
    ({ action }: { action: string }) => action,
  );
const now = () => Math.floor(Date.now() / 1000);

describe('POST /v1/admin/keys', () => {
  it('creates a key that works, with defaults, and shows its secret once', async () => {
    const { status, json } = await create();
    assert.equal(status, 200);
    assertSchema(ApiKeyWithSecret, json);
    assert.deepEqual(
      [json.name, json.models, json.limits, json.budget, json.expires_at],
      ['key', null, null, null, null],
    );
    assert.deepEqual(json.scopes, ['inference', 'files', 'knowledge', 'guardrails']);
    assert.equal(json.hint, json.key.slice(-4));
    assert.equal(await statusOf(json.key), 200);
    const { text, json: shown } = await api.send('GET', `${PATH}/${json.id}`);
    assertSchema(ApiKey, shown);
    assert.doesNotMatch(text, new RegExp(json.key.slice(9)));
  });

  it('stores scopes, models, limits, budget and expiry, and enforces them', async () => {
    const body = {
      name: 'Support',
      scopes: ['inference'],
      models: ['general-8b'],
      limits: { requests_per_minute: 7 },
      budget: { period: 'month', limit_micros: 100, soft_limit_micros: 50 },
      expires_at: now() + 100,
    };
    const { key, ...json } = await created(body);
    const limits = { requests_per_minute: 7, tokens_per_minute: null, concurrent: null };
    assert.deepEqual({ ...json, ...body, limits }, json);
    const { headers } = await api.send('GET', '/v1/models', { key });
    assert.equal(headers.get('x-ratelimit-limit-requests'), '7');
    assertError(await api.send('GET', '/v1/files', { key }), 403, 'insufficient_scope');
    const { expires_at } = await created({ expires_in: 60 });
    assert.ok(Math.abs((expires_at ?? 0) - now() - 60) <= 1);
  });

  it('creates keys of other organizations for the scope admin', async () => {
    const { organizationId } = await api.makeKey({ organization: 'of-admin' });
    const { id, organization_id } = await created({ organization_id: organizationId });
    assert.equal(organization_id, organizationId);
    assert.deepEqual(await eventsOf(id), ['api_key.created']);
  });

  it('400 and 404 naming the field', async () => {
    const budget = { period: 'day', limit_micros: 1 };
    const wrong: [object, string][] = [
      [{ name: '' }, 'name'],
      [{ name: ' ' }, 'name'],
      [{ name: 'a\u0000' }, 'name'],
      [{ name: 'x'.repeat(129) }, 'name'],
      [{ scopes: [] }, 'scopes'],
      [{ scopes: ['files', 'root'] }, 'scopes.1'],
      [{ scopes: ['files', 'files'] }, 'scopes'],
      [{ models: [] }, 'models'],
      [{ limits: { requests_per_minute: 0 } }, 'limits.requests_per_minute'],
      [{ limits: { tokens_per_minute: 1.5 } }, 'limits.tokens_per_minute'],
      [{ limits: { concurrent: 1e9 + 1 } }, 'limits.concurrent'],
      [{ budget: { ...budget, period: 'week' } }, 'budget.period'],
      [{ budget: { ...budget, limit_micros: -1 } }, 'budget.limit_micros'],
      [{ budget: { ...budget, soft_limit_micros: 2 } }, 'budget.soft_limit_micros'],
      [{ expires_at: now() }, 'expires_at'],
      [{ expires_at: 1e15 }, 'expires_at'],
      [{ expires_in: 0 }, 'expires_in'],
      [{ expires_at: now() + 9, expires_in: 9 }, 'expires_in'],
    ];
    for (const [body, param] of wrong) assertError(await create(body), 400, 'invalid_value', param);
    assertError(await create({ budget: { period: 'day' } }), 400, 'missing_required_field', 'budget.limit_micros');
    assertError(await create({ models: ['general-8b', 'x'] }), 404, 'model_not_found', 'models.1');
    for (const id of ['org_x', newId('organization')]) {
      assertError(await create({ organization_id: id }), 404, 'organization_not_found', 'organization_id');
    }
  });

  it('replays the secret to the same key only, and stores it encrypted', async () => {
    const headers = { 'idempotency-key': 'a-key' };
    const first = await api.send('POST', PATH, { body: {}, headers });
    const again = await api.send('POST', PATH, { body: {}, headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.json, first.json);
    const { rows } = await api.db.execute('select body::text from idempotency_keys');
    assert.equal(rows.length, 1);
    assert.doesNotMatch(JSON.stringify(rows), /quire-sk-/);
    const { key } = await api.makeKey();
    assertError(await api.send('POST', PATH, { body: {}, headers, key }), 409, 'idempotency_conflict');
  });
});

describe('the scope admin', () => {
  it('is given by commands only, and is kept by a key that has it', async () => {
    assertError(await create({ scopes: ['files', 'admin'] }), 403, 'insufficient_scope', 'scopes.1');
    const { id } = await created();
    assertError(await patch(id, { scopes: ['admin'] }), 403, 'insufficient_scope', 'scopes.0');
    const admin = await api.makeKey({ scopes: ['admin', 'files'] });
    assert.deepEqual((await patch(admin.id, { scopes: ['admin'] })).json.scopes, ['admin']);
    assert.equal((await rotate(admin.id)).status, 200);
  });
});

describe('GET /v1/admin/keys', () => {
  it('lists the keys of one organization in pages, with their last use', async () => {
    const { id, key, organizationId } = await api.makeKey({ organization: 'listed' });
    const { id: second } = await created({ organization_id: organizationId });
    assert.equal(await statusOf(key), 200);
    await api.authenticator.writeLastUses();
    const { json } = await api.send('GET', `${PATH}?organization_id=${organizationId}&limit=1`);
    assertSchema(listSchema(ApiKey), json);
    assert.deepEqual([json.data[0].id, json.has_more], [id, true]);
    assert.ok(Math.abs(json.data[0].last_used_at - now()) <= 2);
    const { json: next } = await api.send('GET', `${PATH}?organization_id=${organizationId}&after=${id}`);
    assert.deepEqual(
      [next.data.length, next.data[0].id, next.data[0].last_used_at, next.has_more],
      [1, second, null, false],
    );
  });

  it('searches names in any case, ids and hints, without wildcards, newest first with order=desc', async () => {
    const { organizationId } = await api.makeKey({ organization: 'searched' });
    const make = (name: string) => created({ organization_id: organizationId, name });
    const [bot, rate] = [await make('Support bot'), await make('100% of support')];
    const search = async (text: string, more = '') => {
      const query = `organization_id=${organizationId}&search=${encodeURIComponent(text)}${more}`;
      return (await api.send('GET', `${PATH}?${query}`)).json.data.map(({ id }: ApiKey) => id);
    };
    assert.deepEqual(await search('SUPPORT'), [bot.id, rate.id]);
    assert.deepEqual(await search('support', '&order=desc'), [rate.id, bot.id]);
    assert.deepEqual(await search('support', `&order=desc&after=${rate.id}`), [bot.id]);
    assert.deepEqual(await search('0% of'), [rate.id]);
    assert.deepEqual(await search('s_pport'), []);
    assert.deepEqual(await search(bot.id), [bot.id]);
    assert.ok((await search(rate.hint)).includes(rate.id));
    const foreign = await api.makeKey({ scopes: ['keys'], organization: 'another searched' });
    const { json } = await api.send('GET', `${PATH}?search=${bot.id}`, { key: foreign.key });
    assert.deepEqual(json.data, []);
  });

  it('400, 401, 403 and 404', async () => {
    for (const [query, param] of [
      ['search=', 'search'],
      ['search=%00', 'search'],
      ['order=up', 'order'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['after=org_x', 'after'],
    ]) {
      assertError(await api.send('GET', `${PATH}?${query}`), 400, 'invalid_value', param);
    }
    const unknown = `${PATH}?organization_id=${newId('organization')}`;
    assertError(await api.send('GET', unknown), 404, 'organization_not_found', 'organization_id');
    const { key } = await api.makeKey({ scopes: ['inference', 'files', 'knowledge', 'guardrails'] });
    const { id } = await created();
    const routes: [string, string][] = [
      ['POST', PATH],
      ['GET', PATH],
      ['GET', `${PATH}/${id}`],
      ['PATCH', `${PATH}/${id}`],
      ['POST', `${PATH}/${id}/rotate`],
      ['POST', `${PATH}/${id}/revoke`],
    ];
    for (const [method, path] of routes) {
      assertError(await api.send(method, path, { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { key }), 403, 'insufficient_scope');
    }
  });
});

describe('PATCH /v1/admin/keys/{key_id}', () => {
  it('changes the given fields at once', async () => {
    const { id, key } = await created({ limits: { concurrent: 3 }, expires_in: 60 });
    const body = { name: 'b', scopes: ['files'], models: ['general-8b'], expires_at: null };
    const { json } = await patch(id, body);
    assertSchema(ApiKey, json);
    assert.deepEqual({ ...json, ...body }, json);
    assert.equal(json.limits.concurrent, 3);
    assertError(await api.send('GET', '/v1/guardrail-policies', { key }), 403, 'insufficient_scope');
    const cleared = (await patch(id, { limits: null, models: null })).json;
    assert.deepEqual([cleared.limits, cleared.models], [null, null]);
    const { json: log } = await api.send('GET', `/v1/admin/audit?resource_id=${id}&action=api_key.updated`);
    assert.deepEqual(log.data[0].changes[0], { field: 'name', from: 'key', to: 'b' });
  });

  it('400 naming the field, 404 for an unknown key', async () => {
    const { id } = await created();
    assertError(await patch(id, { scopes: ['root'] }), 400, 'invalid_value', 'scopes.0');
    assertError(await patch(id, { expires_at: 1 }), 400, 'invalid_value', 'expires_at');
    assertError(await patch(id, { models: ['x'] }), 404, 'model_not_found', 'models.0');
    for (const unknown of ['x', newId('apiKey')]) {
      const requests: Answer[] = [await patch(unknown, {}), await rotate(unknown), await revoke(unknown)];
      requests.push(await api.send('GET', `${PATH}/${unknown}`));
      for (const answer of requests) assertError(answer, 404, 'api_key_not_found', 'key_id');
    }
    await revoke(id);
    assertError(await patch(id, { name: 'a' }), 400, 'invalid_value', 'key_id');
    assertError(await rotate(id), 400, 'invalid_value', 'key_id');
  });
});

describe('rotation and revocation', () => {
  it('forgets what the key has spent when its budget changes, and only then: it is added up again', async () => {
    const budget = { period: 'total', limit_micros: 100, soft_limit_micros: null };
    const { id } = await created({ budget });
    await api.db.sql.insert(keySpend).values({ keyId: id, period: 'total', spentMicros: 7 });
    const rows = () => api.db.sql.$count(keySpend, eq(keySpend.keyId, id));
    await patch(id, { name: 'other', budget });
    assert.equal(await rows(), 1);
    await patch(id, { budget: null });
    assert.equal(await rows(), 0);
  });

  it('a key that expires now is rejected', () => {
    const parse = (expires_at: number) =>
      parseProperties({ bindings: {} as AccountAdminDeps['bindings'], now: () => 5_000 }, { expires_at });
    assert.throws(() => parse(5), /must be in the future/);
    assert.deepEqual(parse(6).expiresAt, new Date(6_000));
  });

  it('a rotated key keeps its id and properties; without overlap the old secret ends at once', async () => {
    const before = await created({ name: 'r', scopes: ['files'], expires_in: 600 });
    const { json } = await rotate(before.id);
    assertSchema(ApiKeyWithSecret, json);
    const { key, hint, last_used_at, ...same } = json;
    assert.deepEqual({ ...before, ...same }, before);
    assert.notEqual(key, before.key);
    assert.deepEqual([await statusOf(before.key), await statusOf(key)], [401, 200]);
    assert.deepEqual(await eventsOf(before.id), ['api_key.created', 'api_key.rotated']);
  });

  it('both secrets work during the overlap; a second rotation ends the oldest', async () => {
    const { id, key: first } = await created();
    const { json } = await rotate(id, { overlap_seconds: 60 });
    assert.ok(Math.abs(json.previous_secret_expires_at - now() - 60) <= 1);
    assert.deepEqual([await statusOf(first), await statusOf(json.key)], [200, 200]);
    const { key: third } = (await rotate(id, { overlap_seconds: 60 })).json;
    assert.deepEqual([await statusOf(first), await statusOf(json.key), await statusOf(third)], [401, 200, 200]);
    for (const overlap_seconds of [-1, 1.5, 2_678_401]) {
      assertError(await rotate(id, { overlap_seconds }), 400, 'invalid_value', 'overlap_seconds');
    }
  });

  it('a revoked key ends at once, with both secrets, and is listed', async () => {
    const { id, key } = await created();
    const { key: second } = (await rotate(id, { overlap_seconds: 60 })).json;
    const { json } = await revoke(id);
    assertSchema(ApiKey, json);
    assert.deepEqual([await statusOf(key), await statusOf(second)], [401, 401]);
    assert.deepEqual((await revoke(id)).json, json);
    assert.deepEqual(await eventsOf(id), ['api_key.created', 'api_key.rotated', 'api_key.revoked']);
  });
});
