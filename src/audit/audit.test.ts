import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { listSchema } from '../db/page.ts';
import { INGEST_SOURCE } from '../knowledge-bases/jobs/ingest-job.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { insertUser } from '../users/store.ts';
import { pruneAuditEvents } from './prune-events.ts';
import { recordChange, SERVICE_ACTOR, toActor } from './record-change.ts';
import { AuditEvent } from './schema.ts';
import { selectEvents } from './store.ts';

const DAY_SECONDS = 86_400;

const engine = bundledEmbedder();
after(() => engine.close());

describe('audit log', () => {
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE] });
  const PATH = '/v1/admin/audit';
  const list = async (query: string) => (await api.send('GET', `${PATH}?${query}`)).json.data;

  it('records who created, changed and deleted a guardrail policy, from which address', async () => {
    const { id: actor, key } = await api.makeKey({ scopes: ['guardrails'], organization: 'policies' });
    const { json: policy } = await api.send('POST', '/v1/guardrail-policies', { key, body: { name: 'a' } });
    const path = `/v1/guardrail-policies/${policy.id}`;
    await api.send('PUT', path, { key, body: { topic_deny_list: [{ topic: 'a secret topic', action: 'warn' }] } });
    const { headers } = await api.send('DELETE', path, { key });
    const answer = await api.send('GET', `${PATH}?resource_id=${policy.id}`);
    assert.equal(answer.status, 200);
    assertSchema(listSchema(AuditEvent), answer.json);
    assert.doesNotMatch(answer.text, /secret/);
    const events = answer.json.data;
    assert.deepEqual(
      events.map(({ action, changes }: AuditEvent) => [action, changes]),
      [
        ['guardrail_policy.created', []],
        ['guardrail_policy.updated', [{ field: 'topic_deny_list' }]],
        ['guardrail_policy.deleted', []],
      ],
    );
    for (const event of events) {
      assert.deepEqual([event.actor, event.address, event.resource_type], [actor, '127.0.0.1', 'guardrail_policy']);
      assert.ok(Math.abs(event.created_at - Date.now() / 1000) < 60);
    }
    assert.equal(events[2].request_id, headers.get('x-request-id'));
    assertError(await api.send('DELETE', path, { key }), 404, 'guardrail_policy_not_found', 'policy_id');
    assert.equal((await list(`resource_id=${policy.id}`)).length, 3, 'a change that failed is not recorded');
  });

  it('records changes of knowledge bases and data sources', async () => {
    const { json: base } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'a' } });
    const path = `/v1/knowledge-bases/${base.id}`;
    await api.send('PATCH', path, { body: { name: 'b', description: '', unknown: 1 } });
    const config = { urls: ['https://example.com'], metadata: { owner: 'a-secret' } };
    const { json: source } = await api.send('POST', `${path}/data-sources`, { body: { type: 'web_crawl', config } });
    const sourcePath = `${path}/data-sources/${source.id}`;
    await api.send('PATCH', sourcePath, { body: { name: 'c', config: { metadata: { owner: 'b-secret' } } } });
    await api.send('DELETE', sourcePath);
    await api.send('DELETE', path);
    const events = [...(await list(`resource_id=${base.id}`)), ...(await list(`resource_id=${source.id}`))];
    assert.deepEqual(
      events.map(({ action, changes }: AuditEvent) => [action, changes.map(({ field }) => field)]),
      [
        ['knowledge_base.created', []],
        ['knowledge_base.updated', ['name']],
        ['knowledge_base.deleted', []],
        ['data_source.created', []],
        ['data_source.updated', ['name', 'config']],
        ['data_source.deleted', []],
      ],
    );
    assert.doesNotMatch(JSON.stringify(events), /secret/);
  });

  it('filters by organization, actor, action, resource and time, and pages', async () => {
    const { id, key } = await api.makeKey({ scopes: ['guardrails'], organization: 'filters' });
    for (const name of ['a', 'b', 'c']) await api.send('POST', '/v1/guardrail-policies', { key, body: { name } });
    const all = await list(`actor=${id}`);
    assert.equal(all.length, 3);
    const { organization_id: organizationId } = all[0];
    const own = `organization_id=${organizationId}&actor=${id}`;
    assert.deepEqual(await list(`${own}&action=guardrail_policy.created`), all);
    assert.deepEqual(await list(`${own}&action=guardrail_policy.deleted`), []);
    assert.deepEqual(await list(`organization_id=org_x&actor=${id}`), []);
    assert.deepEqual(await list(`${own}&resource_id=${all[1].resource_id}`), [all[1]]);
    const now = Math.floor(Date.now() / 1000);
    assert.deepEqual(await list(`${own}&start_time=${now - 60}&end_time=${now + 60}`), all);
    assert.deepEqual(await list(`${own}&start_time=${now + 60}`), []);
    assert.deepEqual(await list(`${own}&end_time=${now - 60}`), []);
    const { json: first } = await api.send('GET', `${PATH}?${own}&limit=2`);
    assert.deepEqual([first.data.length, first.has_more, first.last_id], [2, true, all[1].id]);
    const { json: second } = await api.send('GET', `${PATH}?${own}&limit=2&after=${first.last_id}`);
    assert.deepEqual([second.data, second.has_more], [[all[2]], false]);
  });

  it('lists the newest event first on request, and names keys and users', async () => {
    const { id, key } = await api.makeKey({ scopes: ['guardrails'], organization: 'ordered', name: 'deploy' });
    for (const name of ['a', 'b', 'c']) await api.send('POST', '/v1/guardrail-policies', { key, body: { name } });
    const oldest = await list(`actor=${id}`);
    const newest = await list(`actor=${id}&order=desc`);
    assert.deepEqual(newest, oldest.toReversed());
    assert.deepEqual(await list(`actor=${id}&order=desc&after=${newest[0].id}`), newest.slice(1));
    assert.equal(newest[0].actor_name, 'deploy');
    const userId = newId('user');
    await insertUser(api.db.sql, {
      id: userId,
      email: 'ada@example.com',
      name: 'Ada',
      passwordHash: null,
      isOperator: false,
    });
    const change = { action: 'member.added', organizationId: 'org_d', resourceId: userId } as const;
    for (const actor of [userId, 'cli']) await recordChange(api.db.sql, { ...SERVICE_ACTOR, id: actor }, change);
    const names = (await list('organization_id=org_d')).map((event: AuditEvent) => event.actor_name);
    assert.deepEqual(names, ['ada@example.com', null]);
  });

  it('400 naming the parameter, 401 without a key, 403 without the scope admin', async () => {
    const wrong = [
      'limit=0',
      'limit=101',
      'after=x',
      'action=x',
      'actor=%00',
      'resource_id=',
      'organization_id=A',
      'start_time=x',
      'end_time=0',
      'start_time=9&end_time=9',
    ];
    for (const query of wrong) {
      assertError(await api.send('GET', `${PATH}?${query}`), 400, 'invalid_value', query.split('=')[0]);
    }
    assertError(await api.send('GET', PATH, { key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['keys', 'guardrails'] });
    assertError(await api.send('GET', PATH, { key }), 403, 'insufficient_scope');
  });

  it('is append-only in the database', async () => {
    const { sql } = api.db;
    await recordChange(sql, SERVICE_ACTOR, { action: 'api_key.created', organizationId: 'org_a', resourceId: 'key_a' });
    const before = await selectEvents(sql, {}, { limit: 1000, after: null });
    const statements = [
      "update audit_events set actor = 'nobody'",
      'delete from audit_events',
      'truncate audit_events',
      "delete from audit_events where resource_id = 'key_a'",
    ];
    for (const statement of statements) {
      await assert.rejects(api.db.execute(statement), /append-only/, statement);
    }
    assert.deepEqual(await selectEvents(sql, {}, { limit: 1000, after: null }), before);
  });

  it('an event and its change are committed together', async () => {
    const change = { action: 'api_key.created', organizationId: 'org_b', resourceId: 'key_b' } as const;
    const failing = api.db.sql.transaction(async (sql) => {
      await recordChange(sql, SERVICE_ACTOR, change);
      throw new Error('rolled back');
    });
    await assert.rejects(failing, /rolled back/);
    assert.deepEqual(await list('organization_id=org_b'), []);
  });

  it('the retention deletes the older range only; without a setting nothing', async () => {
    const call = { caller: { keyId: 'key_c' }, requestId: 'req_c' } as Call;
    const event = { action: 'api_key.created', organizationId: 'org_c', resourceId: 'key_c' } as const;
    await recordChange(api.db.sql, toActor(call), event);
    const prune = (auditRetentionDays: number | null, afterDays: number) =>
      pruneAuditEvents({
        ...api.deps,
        config: { ...api.deps.config, auditRetentionDays },
        now: () => Date.now() + afterDays * DAY_SECONDS * 1000,
      });
    const count = async () => (await list('actor=key_c')).length;
    await prune(null, 1000);
    await prune(30, 29);
    assert.equal(await count(), 1);
    await prune(30, 31);
    assert.equal(await count(), 0);
    await recordChange(api.db.sql, toActor(call), event);
    await assert.rejects(api.db.execute("delete from audit_events where actor = 'key_c'"), /append-only/);
  });
});
