/** The errors of every protocol, in its own form, on every route that calls models and in every way to call it. */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { setBalance } from '../src/billing/credits.ts';
import { engineUnavailable } from '../src/errors.ts';
import { INGEST_SOURCE } from '../src/knowledge-bases/jobs/ingest-job.ts';
import { RUN_RESPONSE } from '../src/responses/run-background.ts';
import { errorFields, useApi } from './harness.ts';
import { MemorySource, makeSource } from './ingestion.ts';
import {
  MODEL_ROUTES,
  type Mode,
  type RouteAnswer,
  type RouteCaller,
  STREAMS,
  scriptedModels,
  sendAs,
} from './model-routes.ts';
import { listRoutes, routeName } from './route-table.ts';
import { stream, words } from './scripted-engine.ts';
import { openSocket } from './web-socket-client.ts';

const BODY_LIMIT = 4_096;
const RETRY_SECONDS = 7;

/** The code of each status. */
const CODES: Record<number, string> = {
  400: 'invalid_value',
  401: 'invalid_api_key',
  402: 'insufficient_credits',
  404: 'model_not_found',
  413: 'request_too_large',
  429: 'rate_limit_exceeded',
  503: 'engine_unavailable',
};

const ANTHROPIC_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

const RPC_CODES: Record<number, number> = { 400: -32_600, 413: -32_600, 503: -32_603 };

type Form = 'OpenAI' | 'Anthropic' | 'Ollama' | 'JSON-RPC';

const formOf = (route: string): Form => {
  if (route.startsWith('POST /v1/messages') || route.endsWith('(anthropic)')) return 'Anthropic';
  if (/ \/api\//.test(route)) return 'Ollama';
  return route === 'POST /mcp' ? 'JSON-RPC' : 'OpenAI';
};

/** Asserts the whole body, which has no field of another protocol. */
function assertForm(
  form: Form,
  { status, json, text, headers }: RouteAnswer,
  expected: number,
  expectedCode = CODES[expected],
): void {
  assert.equal(status, expected, text);
  const { message, type, code, param } = errorFields({ json });
  assert.match(message, /^.{3,}\.$/s);
  assert.equal(code, expectedCode, text);
  const id = headers.get('x-request-id');
  assert.match(id ?? '', /^req_/);
  const own = { type, code, param };
  if (form === 'OpenAI') assert.deepEqual(json, { error: { message, ...own } });
  else if (form === 'Ollama') assert.deepEqual(json, { error: message, ...own, request_id: id });
  else if (form === 'Anthropic') {
    assert.deepEqual(json, { type: 'error', error: { message, ...own }, request_id: id });
    assert.equal(type, ANTHROPIC_TYPES[expected]);
    assert.equal(headers.get('request-id'), id);
  } else {
    const error = { code: RPC_CODES[expected] ?? -32_000, message, data: { ...own, request_id: id } };
    assert.deepEqual(json, { jsonrpc: '2.0', id: null, error });
  }
  if (status === 429) assert.match(headers.get('retry-after') ?? '', /^\d+$/);
}

const ALL = [400, 401, 402, 404, 413, 429, 503];

/**
 * Statuses that each mode can have. A streamed response whose engine fails ends with the event `response.failed`; a
 * background response fails after its request.
 */
const STATUSES: Record<Mode, readonly number[]> = {
  whole: ALL,
  streamed: ALL,
  conversation: ALL.filter((status) => status !== 401 && status !== 429),
  background: ALL.filter((status) => status !== 503),
  'batch line': [402, 404, 503],
  WebSocket: [400, 402, 404],
  'tool call': [402, 404, 503],
};
const FAILS_IN_STREAM = 'POST /v1/responses';

/** Modes without a response of HTTP. Their errors have the fields of OpenAI's. */
const isRelayed = (mode: Mode) => mode === 'batch line' || mode === 'tool call' || mode === 'WebSocket';

/** What a route that is not in `MODEL_ROUTES` answers. */
interface OtherRoute {
  path(store: string): string;
  body: object;
  /** The field that is spoiled for 400. */
  field: string;
  statuses: readonly number[];
}

const OTHER_ROUTES: Record<string, OtherRoute> = {
  'POST /mcp': {
    path: () => '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    field: 'jsonrpc',
    statuses: [400, 401, 413, 429],
  },
  'POST /v1/vector_stores/:vector_store_id/search': {
    path: (store) => `/v1/vector_stores/${store}/search`,
    body: { query: 'text' },
    field: 'query',
    statuses: ALL,
  },
  'POST /v1/messages/count_tokens': {
    path: () => '/v1/messages/count_tokens',
    body: { model: 'general-8b', messages: [{ role: 'user', content: 'text' }] },
    field: 'messages',
    statuses: [400, 401, 404, 413, 429],
  },
  'POST /api/show': {
    path: () => '/api/show',
    body: { model: 'general-8b' },
    field: 'model',
    statuses: [401, 404, 413, 429],
  },
};

describe('errors of every protocol', () => {
  let failure: Error | null = null;
  const intercept = () => {
    if (failure !== null) throw failure;
  };
  const api = useApi({
    config: { bodyLimitBytes: BODY_LIMIT },
    jobs: [INGEST_SOURCE, RUN_RESPONSE],
    models: (engine) => scriptedModels(engine, intercept),
  });
  let store = '';
  before(async () => {
    const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Base' } });
    const source = new MemorySource();
    source.items.set('a', 'The ferry leaves at noon.');
    const { queueJob, run } = await makeSource(api, json.id, source);
    await run(await queueJob());
    store = json.id.replace('kb_', 'vs_');
  });
  beforeEach(() => {
    failure = null;
    api.engine.play(() => {
      intercept();
      return stream(words('Hello there.'));
    });
  });

  const unavailable = () => engineUnavailable('The engine is starting.', RETRY_SECONDS);
  /** A caller to whom the status happens, if the caller decides it. */
  const makeCaller = async (status: number, name: string, organization = `${name} ${status}`): Promise<RouteCaller> => {
    const limits = { requestsPerMinute: status === 429 ? 1 : null, tokensPerMinute: null, concurrent: null };
    const made = await api.makeKey({ organization, limits });
    if (status === 402) await setBalance(api.db.sql, made.organizationId, 0, { actor: 'test', note: null });
    return status === 401 ? { ...made, key: 'quire-sk-unknown' } : made;
  };
  /** A body that has the status for a caller without limits, if the body decides it. */
  const spoil = (body: object, status: number, field: string): object => {
    if (status === 400) return { ...body, [field]: 7 };
    if (status === 404) return { ...body, model: 'none "1"' };
    return status === 413 ? { ...body, user: 'x'.repeat(BODY_LIMIT) } : body;
  };
  const fieldOf = (body: object) =>
    Object.entries(body).find(([, value]) => JSON.stringify(value).includes('text'))?.[0];

  for (const [route, { modes, body }] of Object.entries(MODEL_ROUTES))
    for (const mode of modes)
      for (const status of STATUSES[mode]) {
        if (mode === 'streamed' && status === 503 && route === FAILS_IN_STREAM) continue;
        it(`${status} of ${route}, ${mode}`, async () => {
          const by = await makeCaller(status, `${route} ${mode}`);
          const spoiled = spoil(body('text'), status, fieldOf(body('text')) ?? '');
          if (status === 503) failure = unavailable();
          if (status === 429) await sendAs[mode](api, route, by, spoiled);
          assertForm(isRelayed(mode) ? 'OpenAI' : formOf(route), await sendAs[mode](api, route, by, spoiled), status);
        });
      }

  for (const [route, { path, body, field, statuses }] of Object.entries(OTHER_ROUTES))
    for (const status of statuses)
      it(`${status} of ${route}`, async () => {
        const isStore = route.includes('vector_store');
        const by = isStore ? await makeCaller(status, route, 'default') : await makeCaller(status, route);
        const id = isStore && status === 404 ? store.replace(/.$/, (last) => (last === '0' ? '1' : '0')) : store;
        const send = () => api.send('POST', path(id), { key: by.key, body: spoil(body, status, field) });
        if (status === 503) failure = unavailable();
        if (status === 429) await send();
        const answer = await send();
        assertForm(formOf(route), answer, status, isStore && status === 404 ? 'vector_store_not_found' : undefined);
        if (status === 402) await setBalance(api.db.sql, by.organizationId, 1_000_000, { actor: 'test', note: null });
      });

  it('401 of every route of a protocol', async () => {
    const own = (await listRoutes('/')).filter(({ config }) => config?.protocol && config.scope !== 'public');
    assert.ok(own.length > 12);
    for (const route of own) {
      const headers = route.constraint === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {};
      const answer = await api.send(route.method, route.url.replaceAll(/:\w+/g, 'x'), { key: 'unknown', headers });
      assertForm(formOf(routeName(route)), answer, 401);
    }
  });

  for (const [route, { modes, body }] of Object.entries(MODEL_ROUTES))
    for (const mode of modes.filter((each) => STREAMS.includes(each)))
      it(`an engine that fails in the middle of ${route}, ${mode}`, async () => {
        api.engine.play(async function* () {
          yield* words('Hello there.').slice(0, 3);
          throw unavailable();
        });
        const by = await makeCaller(200, `${route} ${mode} middle`);
        const { text, status, headers } = await sendAs[mode](api, route, by, body('text'));
        assert.equal(status, 200);
        const last = JSON.parse(
          text.replace('data: [DONE]', '').trimEnd().split('\n').at(-1)?.replace('data: ', '') ?? '',
        );
        if (route === FAILS_IN_STREAM) {
          assert.deepEqual([last.type, last.response.error.code], ['response.failed', 'engine_unavailable']);
        } else assertForm(formOf(route), { status: 503, json: last, text, headers }, 503);
      });

  it('of a WebSocket: 401 before it opens, 429 of a message, and a close for a message that is too large', async () => {
    const turn = { type: 'response.create', model: 'general-8b', input: 'text' };
    await assert.rejects(openSocket(api, { key: 'unknown' }), { status: 401, code: 'invalid_api_key' });
    const client = await openSocket(api, await makeCaller(429, 'socket'));
    await client.turn(turn);
    const [{ status, headers, error }] = await client.turn(turn);
    assertForm('OpenAI', { status, headers: new Headers(headers), json: { error }, text: '' }, 429);
    client.send({ ...turn, user: 'x'.repeat(BODY_LIMIT) });
    assert.equal((await client.closed())[0], 1009);
  });
});
