import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RUN_BATCH } from '../src/batches/batch-job.ts';
import { RUN_EVALUATION } from '../src/evaluations/evaluation-job.ts';
import { recordBlock } from '../src/guardrails/blocks.ts';
import { INGEST_SOURCE } from '../src/knowledge-bases/jobs/ingest-job.ts';
import { serviceCaller } from '../src/lib/caller.ts';
import { RUN_RESPONSE } from '../src/responses/run-background.ts';
import { purgeOrganizations } from '../src/retention/purge-organizations.ts';
import { addInvitation } from '../src/users/members/invitations.ts';
import { bundledEmbedder, embeddedBy } from './embedder.ts';
import { type Answer, assertError, type TestApi, useApi } from './harness.ts';
import { listRoutes, type Route, routeName } from './route-table.ts';
import { COMPARE, EXEMPT_FIELDS, ID_FIELDS } from './tenant-id-fields.ts';
import { countRows, createResources, type TenantResources } from './tenant-resources.ts';

type Resource = keyof TenantResources;

/**
 * Resources that a key limited to other knowledge bases does not see. The others are below their knowledge base, or
 * have nothing of it.
 */
const HIDDEN: readonly Resource[] = [
  ...(['kb_id', 'vector_store_id', 'file_id', 'batch_file_id', 'evaluation_id'] as const),
  ...(['batch_id', 'response_id', 'conversation_id', 'item_id'] as const),
];

/** Bodies of routes with path parameters; `{}` where none is given. */
const BODIES: Record<string, object> = {
  'POST /v1/conversations/:conversation_id': { metadata: {} },
  'POST /v1/conversations/:conversation_id/items': { items: [{ role: 'user', content: 'text' }] },
  'POST /v1/chats/:chat_id/messages': { model: 'general-8b', text: 'text' },
  'PATCH /v1/chat-folders/:folder': { name: 'Folder' },
  'PUT /v1/chats/:chat_id/messages/:message_id/feedback': { rating: 'up' },
  'POST /v1/knowledge-bases/:kb_id/data-sources': {
    type: 'web_crawl',
    name: 'Site',
    config: { urls: ['https://example.com'] },
  },
  'POST /v1/knowledge-bases/:kb_id/data-sources/test': {
    type: 'web_crawl',
    name: 'Site',
    config: { urls: ['https://example.com'] },
  },
  'POST /v1/knowledge-bases/:kb_id/retrieve': { query: 'text' },
  'POST /v1/knowledge-bases/:kb_id/documents': { key: 'a', text: 'text' },
  'POST /v1/vector_stores/:vector_store_id/files': { file_id: 'file-x' },
  'POST /v1/vector_stores/:vector_store_id/file_batches': { file_ids: ['file-x'] },
  'POST /v1/vector_stores/:vector_store_id/search': { query: 'text' },
  'POST /v1/vector_stores/:vector_store_id/files/:file_id': { attributes: {} },
  'POST /v1/prompts/:prompt_id/versions': { text: 'text' },
  'POST /v1/guardrail-policies/:policy_id/test': { input: 'text' },
  'POST /v1/knowledge-bases/:kb_id/evaluations': { questions: [{ question: 'When?', answer: 'nine' }] },
  'POST /v1/knowledge-bases/:kb_id/question-sets': { name: 'Set', questions: [{ question: 'When?', answer: 'nine' }] },
};

/** Query strings of routes that need one. */
const QUERIES: Record<string, string> = { 'DELETE /v1/knowledge-bases/:kb_id/documents': '?key=a' };
/** Path parameters that are not ids of an organization's resources, with the reason. */
const GLOBAL_PARAMS: Record<string, string> = {
  user_id: 'only users manage people; `src/users/users.test.ts` tries foreign ids',
  invitation_id: 'as `user_id`',
  model_id: 'models are the same for all organizations',
  page: 'number of a page',
  preset_id: 'only owners manage presets; `src/chat-presets/chat-presets.test.ts` tries foreign ids',
};

/** Only owners delete contents, and no key is one; `src/requests/contents/contents.test.ts` tries a foreign owner. */
const OF_OWNERS = 'DELETE /v1/requests/:request_id/contents';
/** Resources that keys of `foreign` do not read: only owners read feedback, and nothing records contents. */
const UNREADABLE = ['GET /v1/chat-feedback', 'GET /v1/requests/:request_id/contents'];

/** The scope `admin` covers the instance: its routes take ids of all organizations. Public routes read no key. */
const isTenantRoute = ({ config }: Route): boolean => config?.scope !== 'admin' && config?.scope !== 'public';

const routes = (await listRoutes()).filter(isTenantRoute);
const fieldNames = routes.flatMap((route) =>
  route.idFields.map((field) => ({ route, field, name: `${routeName(route)} ${field}` })),
);
const isExempt = ({ field, name }: { field: string; name: string }) => field in EXEMPT_FIELDS || name in EXEMPT_FIELDS;

describe('an id of another organization', () => {
  const engine = bundledEmbedder();
  const api = useApi({ ...embeddedBy(engine), jobs: [INGEST_SOURCE, RUN_BATCH, RUN_EVALUATION, RUN_RESPONSE] });
  let own: TenantResources;
  let foreign: TenantResources;
  /** Of the same organization as `own`; its key may use only its knowledge base. */
  let limited: TenantResources;
  before(async () => {
    own = await createResources(api, 'own');
    foreign = await createResources(api, 'foreign');
    limited = await createResources(api, 'own');
    const changed = await api.send('PATCH', `/v1/admin/keys/${limited.key_id}`, {
      body: { knowledge_base_ids: [limited.kb_id] },
    });
    assert.equal(changed.status, 200, changed.text);
  });
  after(() => engine.close());

  /** An id of the same form that no resource has. */
  const unknown = (id: string) => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
  const send = (route: Pick<Route, 'method'>, url: string, body: object | undefined, key = own.key) =>
    api.send(route.method, url, { key, ...(body !== undefined && { body }) });
  const hasBody = ({ method }: Pick<Route, 'method'>) => method !== 'GET' && method !== 'DELETE';

  for (const route of routes) {
    for (const param of route.params.filter((name) => !(name in GLOBAL_PARAMS))) {
      it(`${routeName(route)} with a foreign ${param} answers as with an unknown one`, async () => {
        assert.ok(param in own, `add '${param}' to test/tenant-resources.ts, or to GLOBAL_PARAMS of this file`);
        const url = (id: string) =>
          route.url.replaceAll(/:(\w+)/g, (_, name: string) =>
            name === param ? id : String(own[name as Resource] ?? 1),
          ) + (routeName(route) === COMPARE ? `?baseline=${own.evaluation_id}` : (QUERIES[routeName(route)] ?? ''));
        const body = hasBody(route) ? (BODIES[routeName(route)] ?? {}) : undefined;
        const id = foreign[param as Resource];
        const [found, missing] = [await send(route, url(id), body), await send(route, url(unknown(id)), body)];
        assertSame({ found, missing }, id, unknown(id));
        const status = routeName(route) === OF_OWNERS ? 403 : 404;
        assert.equal(found.status, status, `${found.text}; if the body is wrong, add one to BODIES of this file`);
      });
    }
  }

  for (const [name, { resource, url, body, status = 404 }] of Object.entries(ID_FIELDS)) {
    it(`${name}: a foreign id answers as an unknown one`, async () => {
      const [method = '', path = ''] = name.split(' ');
      const id = foreign[resource];
      const ask = (value: string) => send({ method }, url?.(own, value) ?? path, body?.(value));
      const [found, missing] = [await ask(id), await ask(unknown(id))];
      assertSame({ found, missing }, id, unknown(id));
      assert.equal(found.status, status, found.text);
    });
  }

  for (const route of routes) {
    const param = HIDDEN.find((name) => route.params.includes(name));
    if (param === undefined) continue;
    it(`${routeName(route)} with a ${param} hidden from the key answers as with an unknown one`, async () => {
      const path = (id: string) =>
        route.url.replaceAll(/:(\w+)/g, (_, name: string) =>
          name === param ? id : String(own[name as Resource] ?? 1),
        ) + (routeName(route) === COMPARE ? `?baseline=${own.evaluation_id}` : (QUERIES[routeName(route)] ?? ''));
      const body = hasBody(route) ? (BODIES[routeName(route)] ?? {}) : undefined;
      const id = own[param];
      const found = await send(route, path(id), body, limited.key);
      assertSame({ found, missing: await send(route, path(unknown(id)), body, limited.key) }, id, unknown(id));
      assert.equal(found.status, 404, found.text);
    });
  }

  for (const [name, { resource, url, body, status = 404 }] of Object.entries(ID_FIELDS)) {
    if (!HIDDEN.some((each) => each === resource)) continue;
    it(`${name}: an id hidden from the key answers as an unknown one`, async () => {
      const [method = '', path = ''] = name.split(' ');
      const id = own[resource];
      const ask = (value: string) => send({ method }, url?.(limited, value) ?? path, body?.(value), limited.key);
      const [found, missing] = [await ask(id), await ask(unknown(id))];
      assertSame({ found, missing }, id, unknown(id));
      // A limited key creates no knowledge base, whatever the ids are.
      assert.equal(found.status, path === '/v1/vector_stores' ? 403 : status, found.text);
    });
  }

  it('is hidden from lists, and the own resources of a limited key are not', async () => {
    const { kb_id, file_id, batch_file_id, batch_id, response_id, conversation_id } = limited;
    const list = async (path: string) => {
      const { json } = await api.send('GET', `${path}?limit=100`, { key: limited.key });
      return json.data.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await list('/v1/knowledge-bases'), [kb_id]);
    assert.deepEqual(await list('/v1/vector_stores'), [kb_id.replace('kb_', 'vs_')]);
    assert.deepEqual(await list('/v1/files'), [file_id, batch_file_id].toSorted());
    assert.deepEqual(await list('/v1/batches'), [batch_id]);
    for (const path of [
      `/v1/knowledge-bases/${kb_id}`,
      `/v1/files/${file_id}`,
      `/v1/files/${batch_file_id}/content`,
      `/v1/batches/${batch_id}`,
      `/v1/responses/${response_id}`,
      `/v1/conversations/${conversation_id}/items`,
    ])
      assert.equal((await api.send('GET', path, { key: limited.key })).status, 200, path);
  });

  it('is tried in every field of every route', () => {
    const missing = fieldNames
      .filter((entry) => !isExempt(entry) && !(entry.name in ID_FIELDS))
      .map(({ name }) => name);
    assert.deepEqual(missing, [], 'add these fields to ID_FIELDS of this file, or to EXEMPT_FIELDS with a reason');
  });

  it('has changed nothing', async () => {
    for (const { method, url, params, config } of routes) {
      // `src/responses/response-socket.test.ts` tries foreign ids over a WebSocket.
      if (config?.rateClass === 'connections') continue;
      if (method !== 'GET' || !params.every((name) => name in foreign)) continue;
      if ([COMPARE, ...UNREADABLE].includes(`GET ${url}`)) continue;
      const path = url.replaceAll(/:(\w+)/g, (_, name: string) => String(foreign[name as Resource]));
      const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${foreign.key}` } });
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      // An event stream stays open; its status tells that the resource exists.
      const text = isStream ? await response.body?.cancel() : await response.text();
      assert.equal(response.status, 200, `${path}: ${text}`);
    }
  });

  it('ends with its organization, whose data is purged from every table but those of billing and audit', async () => {
    const path = `/v1/admin/organizations/${foreign.organization_id}`;
    await api.send('POST', '/v1/guardrail-policies', {
      key: foreign.key,
      headers: { 'idempotency-key': 'a' },
      body: { name: 'Replayed' },
    });
    for (const { organization_id } of [own, foreign]) await addBlock(api, organization_id);
    await addPeople(api, own.organization_id, 'own@example.com');
    await addPeople(api, foreign.organization_id, 'foreign@example.com');
    const rowsOfOwn = await countRows(api, own.organization_id);
    const { json } = await api.send('DELETE', path);
    assert.deepEqual(json, { id: foreign.organization_id, object: 'organization', deleted: true });
    assertError(await api.send('GET', '/v1/models', { key: foreign.key }), 401, 'invalid_api_key');
    const { signal } = new AbortController();
    await assert.rejects(purgeOrganizations(api.deps, AbortSignal.abort(new Error('the process stops'))), /stops/);
    await purgeOrganizations(api.deps, signal);
    // The first run cancels the batch, which no worker ends here.
    await purgeOrganizations({ ...api.deps, now: () => Date.now() + 60_000 }, signal);
    const kept = ['api_keys', 'audit_events', 'usage_records'];
    assert.deepEqual(Object.keys(await countRows(api, foreign.organization_id)), kept);
    assert.deepEqual(await countRows(api, own.organization_id), rowsOfOwn);
    assert.deepEqual((await api.send('DELETE', path)).json, json, 'repeated');
    assertError(await api.send('GET', path), 404, 'organization_not_found', 'organization_id');
  });
});

/** Records an input that a policy has blocked. */
async function addBlock({ deps }: TestApi, organizationId: string): Promise<void> {
  const call = {
    caller: serviceCaller(organizationId, 'key_1'),
    requestId: 'req_1',
    endpoint: '',
    priority: 'batch',
  } as const;
  const notice = { flagged: true, action: 'block', stage: 'input', policyId: 'gp_1', reasons: [] } as const;
  await recordBlock(deps, { call, model: { id: 'general-8b' } }, notice);
}

/** Adds a member with a session, and an open invitation. */
async function addPeople(api: TestApi, organizationId: string, email: string): Promise<void> {
  const grant = { organizationId, role: 'viewer', isOperator: false, note: null, createdBy: 'service' } as const;
  const { token } = await addInvitation(api.db.sql, grant, Date.now());
  await addInvitation(api.db.sql, grant, Date.now());
  const body = { token, email, password: 'correct horse battery' };
  assert.equal((await api.send('POST', '/v1/invitations/accept', { key: null, body })).status, 200);
}

/** Asserts equal statuses, headers and bytes, except for the ids of the requests and of the resources. */
function assertSame(answers: { found: Answer; missing: Answer }, foreignId: string, unknownId: string): void {
  const [found, missing] = [comparable(answers.found, foreignId), comparable(answers.missing, unknownId)];
  assert.deepEqual(found, missing);
}

function comparable({ status, headers, text }: Answer, id: string) {
  const shown = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, headers: shown, body: text.replaceAll(id, 'ID') };
}
