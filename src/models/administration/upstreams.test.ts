import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { createDatabase } from '../../../test/database.ts';
import { until } from '../../../test/deadline.ts';
import { chatRequest, collectGeneration } from '../../../test/engine-conformance.ts';
import {
  type Handler,
  sendEvents,
  sendJson,
  startServer,
  type TestServer,
} from '../../../test/fixtures/upstream-server.ts';
import { assertSchema } from '../../../test/harness.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { auditEvents } from '../../audit/tables.ts';
import { SHUTDOWN_ORDER } from '../../boot/shutdown-order.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import { openPostgres } from '../../db/postgres.ts';
import { unlimited } from '../../http/rate-limit.ts';
import { createServer } from '../../http/server.ts';
import { OPERATOR } from '../../lib/caller.ts';
import { Lifecycle } from '../../lib/lifecycle.ts';
import { createLogger } from '../../lib/logger.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { ModelBindings } from '../bindings/model-bindings.ts';
import { upstreamModels, upstreams } from '../upstreams/tables.ts';
import { listBoundModels } from './manage-models.ts';
import { upstreamRoutes } from './upstream-routes.ts';
import { UpstreamList, UpstreamResource, UpstreamTest } from './upstream-schema.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quire-upstreams-'));
const logger = createLogger('silent');
const lifecycle = new Lifecycle(SHUTDOWN_ORDER);
const secrets = createSecrets('the key that tests seal secrets with');
const KEY = 'sk-Ünlikely-free-but-ascii'.replace('Ü', 'U');
const models: Config['models'] = {
  filed: { base_urls: ['http://127.0.0.1:9/v1?key=hidden'], api_key: 'hidden', protocol: 'openai' },
  priced: { pricing: { prompt: 7, completion: 8, unit: 'per_1k_tokens' } },
};
const config = { ...loadConfig({ QUIRE_DATA_DIR: dataDir }), models };

/** A process on the database, which serves chat and reranking models. */
async function startProcess(url: string) {
  const db = await openPostgres(url, logger);
  const bindings = await ModelBindings.start({ config, logger, lifecycle, db, secrets }, ['generation', 'rerank']);
  const deps = { config, logger, db, secrets, bindings, models: bindings.registry, now: Date.now };
  const app = await createServer({
    logger,
    bodyLimitBytes: 1e6,
    corsOrigins: null,
    requestTimeoutMs: 0,
    authenticate: () => OPERATOR,
    limiter: unlimited,
  });
  upstreamRoutes(app, deps);
  const send = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
    const answer = await app.inject({ method, url: path, ...(body !== undefined && { payload: body }) });
    return { status: answer.statusCode, json: answer.json() };
  };
  const close = async () => {
    await app.close();
    await db.close();
  };
  return { db, bindings, deps, send, close };
}

type Process = Awaited<ReturnType<typeof startProcess>>;

/** Answers with its name, a tool call, or the value of the probe for schemas. */
const named =
  (name: string): Handler =>
  ({ body }, response) => {
    if (body?.['tools'] !== undefined) {
      const call = { index: 0, id: 'c', type: 'function', function: { name: 'get_time', arguments: '{}' } };
      sendEvents(response, [{ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] }]);
    } else {
      const content = body?.['response_format'] === undefined ? name : '{"k7":"qv-4417"}';
      sendEvents(response, [{ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }]);
    }
    sendEvents(response, ['[DONE]']);
    response.end();
  };

let database: Awaited<ReturnType<typeof createDatabase>>;
let [a, b] = [] as unknown as [Process, Process];
let [one, two] = [] as unknown as [TestServer, TestServer];
before(async () => {
  database = await createDatabase();
  [a, b] = [await startProcess(database.url), await startProcess(database.url)];
  const list = { data: [{ id: 'llama', max_model_len: 8192 }, { id: 'other' }, { nameless: true }] };
  [one, two] = [await startServer(named('one'), list), await startServer(named('two'), list)];
});
after(async () => {
  await lifecycle.stop((part, error) => assert.fail(`${part}: ${error}`));
  await Promise.all([a.close(), b.close(), one.close(), two.close()]);
  await database.drop();
  rmSync(dataDir, { recursive: true });
});
beforeEach(async () => {
  await a.db.sql.delete(upstreamModels);
  await a.db.sql.delete(upstreams);
  await Promise.all([a.bindings.refresh(), b.bindings.refresh()]);
});

const add = async (name: string, server: { baseUrl: string }, more: object = {}): Promise<string> => {
  const { status, json } = await a.send('POST', '/v1/admin/upstreams', { name, base_urls: [server.baseUrl], ...more });
  assert.equal(status, 200, JSON.stringify(json));
  assertSchema(UpstreamResource, json);
  return json.id;
};
const bind = (id: string, routes: object[], more: object = {}) =>
  a.send('PUT', `/v1/admin/models/${encodeURIComponent(id)}/upstreams`, { routes, ...more });
const ask = async ({ bindings }: Process, id: string) => {
  const engine = bindings.registry.get(id)?.engine;
  return engine == null ? null : (await collectGeneration(engine, chatRequest('Hi'))).choices[0]?.text;
};
const assertInvalid = ({ status, json }: { status: number; json: { error: Record<string, unknown> } }, param: string) =>
  assert.deepEqual([status, json.error['code'], json.error['param']], [400, 'invalid_value', param]);

describe('/v1/admin/upstreams', () => {
  it('a bound id is served by the server in every process, with the key, which is stored sealed', async () => {
    const id = await add('GPU', one, { api_key: KEY });
    const routes = [{ upstream_id: id, model: 'llama', weight: 2 }];
    const pricing = { prompt: 1.5, completion: 2, unit: 'per_1m_tokens' };
    const bound = await bind('team/own', routes, { context_length: 512, pricing, vision: true });
    assert.deepEqual(bound, { status: 200, json: { routes, context_length: 512, pricing, vision: true } });
    await until(() => b.bindings.registry.get('team/own') !== undefined);
    for (const process of [a, b]) assert.equal(await ask(process, 'team/own'), 'one');
    const posts = one.requests.filter(({ method }) => method === 'POST');
    assert.deepEqual(
      posts.map(({ headers, body }) => [headers.authorization, body?.['model']]),
      [
        [`Bearer ${KEY}`, 'llama'],
        [`Bearer ${KEY}`, 'llama'],
      ],
    );
    const model = b.bindings.registry.get('team/own');
    assert.deepEqual([model?.maxContextTokens, model?.pricing, model?.capabilities.vision], [512, pricing, true]);
    assert.equal(b.bindings.chosenBy('team/own'), 'upstream');
    const listed = listBoundModels(b.deps as never).data.find((entry) => entry.id === 'team/own');
    assert.deepEqual(listed?.upstream_binding, bound.json);
    const [row] = await a.db.sql.select().from(upstreams).where(eq(upstreams.id, id));
    assert.ok(row?.sealedApiKey !== null && !JSON.stringify(row).includes(KEY));
    const events = JSON.stringify(await a.db.sql.select().from(auditEvents));
    assert.ok(events.includes('upstream.created') && events.includes('GPU: llama (2)') && !events.includes(KEY));
  });

  it('fallbacks are asked in order, a change of the server is applied, and an unbound id is no longer served', async () => {
    const dead = await startServer(() => {});
    await dead.close();
    const [first, second] = [await add('dead', dead), await add('two', two)];
    const routes = [
      { upstream_id: second, model: 'llama', weight: 0 },
      { upstream_id: first, model: 'llama' },
    ];
    assert.equal((await bind('own', routes)).status, 200);
    await until(() => b.bindings.registry.get('own') !== undefined);
    for (const process of [a, b]) assert.equal(await ask(process, 'own'), 'two');
    const { json } = await a.send('GET', '/v1/admin/upstreams');
    assertSchema(UpstreamList, json);
    const state = (id: string) => json.data.find((server: UpstreamResource) => server.id === id).servers[0];
    assert.deepEqual([state(first).healthy, state(second).healthy, state(second).last_error], [false, true, null]);
    assert.equal((await a.send('PUT', `/v1/admin/upstreams/${first}`, { base_urls: [one.baseUrl] })).status, 200);
    await until(async () => (await ask(b, 'own')) === 'one');
    assertInvalid(await a.send('DELETE', `/v1/admin/upstreams/${first}`), 'upstream_id');
    assert.equal((await a.send('DELETE', '/v1/admin/models/own/upstreams')).status, 200);
    assert.equal(a.bindings.registry.get('own'), undefined);
    await until(() => b.bindings.registry.get('own') === undefined);
    assert.equal((await a.send('DELETE', '/v1/admin/models/own/upstreams')).status, 200);
    assert.equal((await a.send('DELETE', `/v1/admin/upstreams/${first}`)).status, 200);
    assert.equal((await a.send('GET', `/v1/admin/upstreams/${first}`)).json.error.code, 'upstream_not_found');
  });

  it('the configuration file wins: its ids cannot be bound, its prices stay, its servers are listed without keys', async () => {
    const id = await add('GPU', one);
    const routes = [{ upstream_id: id, model: 'llama', weight: 1 }];
    assertInvalid(await bind('filed', routes), 'model_id');
    await bind('priced', routes, { pricing: { prompt: 1, completion: 1, unit: 'per_1k_tokens' } });
    assert.deepEqual(a.bindings.registry.get('priced')?.pricing, models['priced']?.pricing);
    assert.equal(await ask(a, 'priced'), 'one');
    const { json } = await a.send('GET', '/v1/admin/upstreams');
    const [filed, added] = json.data;
    assert.deepEqual(
      [filed.source, filed.id, filed.name, filed.base_urls, filed.has_api_key, filed.models],
      ['configuration', null, 'filed', ['http://127.0.0.1:9'], true, ['filed']],
    );
    assert.deepEqual([added.source, added.id, added.models], ['api', id, ['priced']]);
    assert.ok(!JSON.stringify(json).includes('hidden'));
  });

  it('a file that binds the id later wins, until it no longer does', async () => {
    const id = await add('GPU', one, { api_key: KEY });
    await bind('own', [{ upstream_id: id, model: 'llama', weight: 1 }]);
    const file = { base_urls: [two.baseUrl] };
    await a.bindings.reconfigure({ ...config, models: { ...models, own: file } });
    assert.deepEqual([await ask(a, 'own'), a.bindings.chosenBy('own')], ['two', 'configuration']);
    // The key of the other server is not sent to it.
    const { headers, body } = two.requests.findLast(({ method }) => method === 'POST') ?? assert.fail();
    assert.deepEqual([headers.authorization, body?.['model']], [undefined, 'own']);
    await a.bindings.reconfigure(config);
    assert.deepEqual([await ask(a, 'own'), a.bindings.chosenBy('own')], ['one', 'upstream']);
  });

  it('tests a server: reachable, models with their context, streaming, tools and schema', async () => {
    const id = await add('GPU', one, { api_key: KEY });
    const { status, json } = await a.send('POST', `/v1/admin/upstreams/${id}/test`, { model: 'llama' });
    assert.equal(status, 200);
    assertSchema(UpstreamTest, json);
    assert.deepEqual(json.models, [
      { id: 'llama', context_length: 8192 },
      { id: 'other', context_length: null },
    ]);
    assert.deepEqual([json.servers[0].error, json.context_length], [null, 8192]);
    assert.deepEqual(
      json.features.map((feature: { name: string; error: string | null }) => [feature.name, feature.error]),
      [
        ['streaming', null],
        ['tools', null],
        ['schema', null],
      ],
    );
    assert.deepEqual((await a.send('POST', `/v1/admin/upstreams/${id}/test`, {})).json.features, []);
    assert.equal((await a.send('POST', '/v1/admin/upstreams/ups_none/test', {})).status, 404);
  });

  it('a server that fails, or a model without the features, is a result that says why', async () => {
    const rejecting = await startServer((_request, response) => sendJson(response, 401, {}), undefined, 401);
    const weak = await startServer(
      (_request, response) =>
        sendJson(response, 200, { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] }),
      undefined,
      404,
    );
    const [first, second] = [await add('keyless', rejecting), await add('weak', weak)];
    const { json } = await a.send('POST', `/v1/admin/upstreams/${first}/test`, {});
    assert.match(json.servers[0].error, /rejects the API key \(status 401\)/);
    const tested = (await a.send('POST', `/v1/admin/upstreams/${second}/test`, { model: 'x' })).json;
    assert.match(tested.servers[0].error, /has no list of models/);
    assert.deepEqual(
      tested.features.map(({ error }: { error: string | null }) => error === null),
      [true, false, false],
    );
    await Promise.all([rejecting.close(), weak.close()]);
  });

  it('400 naming the field', async () => {
    const create = (body: object) =>
      a.send('POST', '/v1/admin/upstreams', { name: 'x', base_urls: [one.baseUrl], ...body });
    for (const url of ['gpu', 'ftp://gpu', 'http://me:pass@gpu/v1', 'http://gpu/v1?key=1', 'file:///etc/passwd'])
      assertInvalid(await create({ base_urls: [url] }), 'base_urls');
    for (const key of ['two words', 'naïve', 'line\n']) assertInvalid(await create({ api_key: key }), 'api_key');
    for (const name of ['  ', 'a\u0000b']) assertInvalid(await create({ name }), 'name');
    assert.equal((await create({ protocol: 'grpc' })).status, 400);
    const id = await add('GPU', one, { api_key: KEY });
    assertInvalid(await create({ name: 'GPU' }), 'name');
    const put = (body: object) => a.send('PUT', `/v1/admin/upstreams/${id}`, body);
    assertInvalid(await put({ base_urls: ['http://127.0.0.1:7/v1'] }), 'base_urls');
    assert.equal((await put({ base_urls: ['http://127.0.0.1:7/v1'], api_key: null })).json.has_api_key, false);
    await add('other', two);
    assertInvalid(await put({ name: 'other' }), 'name');
    assert.equal((await a.send('PUT', '/v1/admin/upstreams/ups_none', {})).json.error.code, 'upstream_not_found');
    const route = { upstream_id: id, model: 'llama', weight: 1 };
    assertInvalid(await bind('own', [{ ...route, weight: 0 }]), 'routes');
    assertInvalid(await bind(' own', [route]), 'model_id');
    assertInvalid(await bind('reranker-v2-m3', [route, route]), 'routes');
    assertInvalid(await bind('reranker-v2-m3', [route], { vision: true }), 'vision');
    const missing = await bind('own', [route, { ...route, upstream_id: 'ups_none' }]);
    assert.deepEqual([missing.status, missing.json.error.param], [404, 'routes.1.upstream_id']);
    const claude = await add('claude', one, { protocol: 'anthropic' });
    assertInvalid(await bind('reranker-v2-m3', [{ ...route, upstream_id: claude }]), 'routes.0.upstream_id');
  });

  it('names and model names come back as they were sent', async () => {
    for (const [index, text] of AWKWARD_TEXTS.entries()) {
      const name = `${text} ${index}`.trim().slice(0, 100);
      const id = await add(name, one);
      assert.equal((await a.send('GET', `/v1/admin/upstreams/${id}`)).json.name, name);
      const { json } = await bind('own', [{ upstream_id: id, model: text.slice(0, 256), weight: 1 }]);
      assert.equal(json.routes[0].model, text.slice(0, 256));
    }
  });
});
