import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { assertError, assertSchema, useApi } from '../../test/harness.ts';
import { openUserSession } from '../../test/support/open-session.ts';
import { deleteOrganization } from '../accounts/organizations/manage-organizations.ts';
import { listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { dataSources, knowledgeBases } from '../knowledge-bases/tables.ts';
import { ProcessLease } from '../leases/process-lease.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { purgeOrganizations } from '../retention/purge-organizations.ts';
import { createAlertEvaluation, pruneAlerts, reconcileAlerts } from './evaluate-alerts.ts';
import { type AlertCause, findStaleBackups, UNHEALTHY_MS, UnhealthyServers } from './find-causes.ts';
import { AlertResource } from './schema.ts';
import { alertEvaluators, alerts } from './tables.ts';

let time = Date.parse('2026-11-28T12:00:00Z');
const now = () => time;
const api = useApi({ now });
const MESSAGE = 'The server says "no": it\'s closed.';
const HOUR_MS = 3_600_000;

beforeEach(async () => {
  for (const table of [alerts, alertEvaluators, dataSources]) await api.db.sql.delete(table);
});

const details = {
  error: MESSAGE,
  models: null,
  since: null,
  threshold_percent: null,
  amount_micros: null,
  is_enforced: null,
};
const cause = (changes: Partial<AlertCause> = {}): AlertCause => ({
  organizationId: '',
  kind: 'upstream_unhealthy',
  subject: 'http://a:1',
  name: 'http://a:1',
  path: '/models',
  details,
  ...changes,
});
const evaluation = (deps: Partial<Deps> = {}) => createAlertEvaluation({ ...api.deps, now, backups: null, ...deps });
const list = async (query = '', key = api.key) => (await api.send('GET', `/v1/alerts?${query}`, { key })).json.data;

const EMPTY_BASE = {
  name: 'Base',
  description: '',
  embeddingModel: 'embed-base-en-v1',
  chunkingType: 'recursive',
  chunkSizeTokens: 512,
  chunkOverlapTokens: 64,
  documentCount: 0,
  chunkCount: 0,
  status: 'active',
  metadata: {},
  createdAt: new Date(),
  updatedAt: new Date(),
} as const;

/** Creates a data source. Its last sync failed, or succeeded if `error` is null. */
async function addSource(organizationId: string, name = 'Wiki "1"', code = 'unauthorized'): Promise<string> {
  const knowledgeBaseId = newId('knowledgeBase');
  await api.db.sql.insert(knowledgeBases).values({ ...EMPTY_BASE, id: knowledgeBaseId, organizationId });
  const id = newId('dataSource');
  const at = new Date(now());
  const error = { code, message: MESSAGE, param: null, retryable: false };
  const row = { id, knowledgeBaseId, organizationId, name, config: {}, documentCount: 0, error };
  await api.db.sql
    .insert(dataSources)
    .values({ ...row, type: 'web_crawl', status: 'error', createdAt: at, updatedAt: at });
  return id;
}

const setError = (id: string, error: (typeof dataSources.$inferSelect)['error'], status: 'active' | 'processing') =>
  api.db.sql.update(dataSources).set({ error, status }).where(eq(dataSources.id, id));

describe('alerts of failed syncs', () => {
  it('opens an alert, shows it only to its organization, acknowledges it, and resolves it when a sync succeeds', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'syncing' });
    const { key: foreign } = await api.makeKey({ organization: 'other', scopes: ['keys'] });
    const id = await addSource(organizationId);
    const evaluate = evaluation();
    await evaluate();
    await evaluate();
    const listed = await api.send('GET', '/v1/alerts', { key });
    assertSchema(listSchema(AlertResource), listed.json);
    const [alert, ...more] = listed.json.data;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [alert.kind, alert.status, alert.resource_id, alert.name],
      ['sync_failed', 'open', id, 'Wiki "1"'],
    );
    assert.equal(alert.summary, `The sync of the data source 'Wiki "1"' failed: ${MESSAGE}`);
    assert.match(alert.path, /^\/knowledge-bases\/kb_\w+\?tab=sources$/);
    const path = `/v1/alerts/${alert.id}/acknowledge`;
    assert.deepEqual(await list('', foreign), []);
    assertError(await api.send('POST', path, { key: foreign }), 404, 'alert_not_found', 'alert_id');
    const acknowledged = await api.send('POST', path, { key });
    assert.equal(acknowledged.json.acknowledged_at, Math.floor(now() / 1000));
    time += 5_000;
    assert.deepEqual(
      (await api.send('POST', path, { key })).json,
      acknowledged.json,
      'the first acknowledgement is kept',
    );
    const [row] = await api.db.sql.select().from(dataSources).where(eq(dataSources.id, id));
    await setError(id, row?.error ?? null, 'processing');
    await evaluate();
    assert.deepEqual(await list('status=open', key), [acknowledged.json], 'a sync that runs has not succeeded');
    await setError(id, null, 'active');
    await evaluate();
    assert.deepEqual(await list('status=open', key), []);
    assert.equal((await list('status=resolved', key))[0].resolved_at, Math.floor(now() / 1000));
    await setError(id, row?.error ?? null, 'active');
    await evaluate();
    const [again] = await list('status=open&order=desc', key);
    assert.notEqual(again.id, alert.id, 'a new failure is a new alert');
    assert.equal(again.acknowledged_at, null);
  });

  it('a cancelled sync raises none, and keys that are limited to knowledge bases see none', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'limited' });
    await addSource(organizationId, 'cancelled', 'cancelled');
    const evaluate = evaluation();
    await evaluate();
    assert.deepEqual(await list('', key), []);
    await addSource(organizationId);
    await evaluate();
    assert.equal((await list('', key)).length, 1);
    const { key: limited } = await api.makeKey({ organization: 'limited', knowledgeBaseIds: [newId('knowledgeBase')] });
    assert.deepEqual(await list('', limited), []);
  });

  it('deletes alerts with their organization', async () => {
    const { organizationId } = await api.makeKey({ organization: 'ending' });
    await addSource(organizationId);
    const evaluate = evaluation();
    await evaluate();
    const call: Call = { caller: serviceCaller('', 'test'), requestId: '', endpoint: '', priority: 'interactive' };
    await deleteOrganization({ ...api.deps, evictKeys: () => {} }, call, organizationId);
    await purgeOrganizations(api.deps, new AbortController().signal);
    await evaluate();
    assert.deepEqual(await api.db.sql.select().from(alerts), []);
  });
});

describe('reconcileAlerts', () => {
  it('opens one alert for a subject when processes run it at the same time, and resolves it once', async () => {
    const other = cause({ subject: "b'", name: "b'" });
    const deps = { ...api.deps, now };
    await Promise.all(Array.from({ length: 8 }, () => reconcileAlerts(deps, 'upstream_unhealthy', [cause(), other])));
    assert.deepEqual((await list()).map(({ name }: AlertResource) => name).toSorted(), ["b'", 'http://a:1']);
    await Promise.all(Array.from({ length: 8 }, () => reconcileAlerts(deps, 'upstream_unhealthy', [other])));
    assert.deepEqual(
      (await list('status=open')).map(({ name }: AlertResource) => name),
      ["b'"],
    );
    await reconcileAlerts(deps, 'sync_failed', []);
    assert.equal((await list('status=open')).length, 1, 'other kinds stay open');
  });

  it('shows the newest facts of an open alert', async () => {
    const deps = { ...api.deps, now };
    await reconcileAlerts(deps, 'upstream_unhealthy', [cause()]);
    await reconcileAlerts(deps, 'upstream_unhealthy', [cause({ details: { ...details, error: 'other' } })]);
    const [alert, ...more] = await list();
    assert.deepEqual([alert.details.error, more], ['other', []]);
  });
});

describe('the evaluation', () => {
  it('runs in one process, and another process takes over when it ends', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'processes' });
    const lease = await new ProcessLease(api.deps).start();
    await evaluation({ lease })();
    await addSource(organizationId);
    await evaluation()();
    assert.deepEqual(await list('', key), [], 'the other process evaluates');
    await lease.stop();
    await evaluation()();
    assert.equal((await list('', key)).length, 1);
  });

  it('evaluates the other kinds when one kind fails', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'failing' });
    await addSource(organizationId);
    const models = { ...api.deps.models, runtimes: () => assert.fail('broken') };
    await evaluation({ models })();
    assert.equal((await list('', key)).length, 1);
  });

  it('deletes alerts 90 days after they were resolved, and no open ones', async () => {
    const deps = { ...api.deps, now };
    await reconcileAlerts(deps, 'upstream_unhealthy', [cause(), cause({ subject: 'b' })]);
    await reconcileAlerts(deps, 'upstream_unhealthy', [cause()]);
    await pruneAlerts({ ...deps, now: () => now() + 90 * 24 * HOUR_MS });
    assert.equal((await list()).length, 2);
    await pruneAlerts({ ...deps, now: () => now() + 90 * 24 * HOUR_MS + 1 });
    assert.deepEqual(
      (await list()).map(({ status }: AlertResource) => status),
      ['open'],
    );
  });
});

describe('findStaleBackups', () => {
  const state = (dueMs: number | null, oldestMs: number | null) => ({
    dueMs,
    archiver: { pending: { bytes: 0, oldestMs } },
  });
  const subjects = (dueMs: number | null, oldestMs: number | null, startedAt = 0) =>
    findStaleBackups(state(dueMs, oldestMs), startedAt, 10 * HOUR_MS).map(({ subject }) => subject);

  it('names a backup that is two hours late, and WAL that has waited for ten minutes', () => {
    assert.deepEqual(subjects(8 * HOUR_MS, 10 * HOUR_MS - 600_000), []);
    assert.deepEqual(subjects(8 * HOUR_MS - 1, null), ['schedule']);
    assert.deepEqual(subjects(null, 10 * HOUR_MS - 600_001), ['wal']);
    assert.deepEqual(subjects(0, 0), ['schedule', 'wal']);
    assert.deepEqual(findStaleBackups(null, 0, now()), []);
  });

  it('gives a process two hours to make up for a backup', () => {
    assert.deepEqual(subjects(0, null, 8 * HOUR_MS), []);
    assert.deepEqual(subjects(0, null, 8 * HOUR_MS - 1), ['schedule']);
  });
});

describe('UnhealthyServers', () => {
  it('names servers that are unhealthy for a minute, with the models of all engines', async () => {
    const healthy: Record<string, boolean> = { 'http://a': false, 'http://b': true };
    const engine = (urls: string[]) => ({
      check: async () => {},
      servers: () =>
        urls.map((url) => ({ url, isHealthy: healthy[url], inFlight: 0, lastError: { message: MESSAGE, at: 0 } })),
    });
    const engines = [engine(['http://a', 'http://b']), engine(['http://a']), { check: async () => assert.fail() }];
    const models = {
      runtimes: () => engines,
      list: () => engines.map((each, index) => ({ id: `m${2 - index}`, engine: each })),
    } as unknown as Deps['models'];
    const servers = new UnhealthyServers();
    assert.deepEqual(await servers.find({ db: api.db, models, now }), []);
    time += UNHEALTHY_MS - 1;
    assert.deepEqual(await servers.find({ db: api.db, models, now }), []);
    time += 1;
    const [first, ...more] = await servers.find({ db: api.db, models, now });
    assert.deepEqual(more, []);
    assert.deepEqual(
      [first?.subject, first?.details.models, first?.details.error],
      ['http://a', ['m1', 'm2'], MESSAGE],
    );
    await reconcileAlerts({ ...api.deps, now }, 'upstream_unhealthy', first === undefined ? [] : [first]);
    assert.deepEqual(await new UnhealthyServers().find({ db: api.db, models, now }), [first], 'after a restart');
    healthy['http://a'] = true;
    assert.deepEqual(await servers.find({ db: api.db, models, now }), []);
    healthy['http://a'] = false;
    assert.deepEqual(await servers.find({ db: api.db, models, now }), [], 'counted from the new failure');
  });
});

describe('the routes of alerts', () => {
  it('alerts of the instance are for operators', async () => {
    await reconcileAlerts({ ...api.deps, now }, 'upstream_unhealthy', [cause()]);
    const { key, organizationId } = await api.makeKey({ organization: 'members', scopes: ['keys'] });
    assert.deepEqual(await list('', key), []);
    const [alert] = await list();
    assert.equal(alert.organization_id, null);
    const path = `/v1/alerts/${alert.id}/acknowledge`;
    assertError(await api.send('POST', path, { key }), 404, 'alert_not_found', 'alert_id');
    assert.equal((await api.send('POST', path)).status, 200);
    const viewer = await openUserSession(api, [organizationId], { role: 'viewer' });
    assert.equal((await viewer.send('GET', '/v1/alerts')).status, 200);
    assertError(await viewer.send('POST', path), 403, 'insufficient_scope');
  });

  it('401, 403 and 400 naming the parameter', async () => {
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await api.send('GET', '/v1/alerts', { key }), 403, 'insufficient_scope');
    assertError(await api.send('GET', '/v1/alerts', { key: null }), 401, 'invalid_api_key');
    for (const query of ['limit=0', 'limit=101', 'after=x', 'status=old', 'order=up']) {
      assertError(await api.send('GET', `/v1/alerts?${query}`), 400, 'invalid_value', query.split('=')[0]);
    }
    for (const id of ['x', newId('alert'), '%00']) {
      assertError(await api.send('POST', `/v1/alerts/${id}/acknowledge`), 404, 'alert_not_found', 'alert_id');
    }
    assert.equal((await api.send('GET', '/v1/alerts?limit=100')).status, 200);
  });
});
