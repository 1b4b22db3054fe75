import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, useApi } from '../../test/harness.ts';
import { MUST } from '../http/validation.ts';

describe('operation', () => {
  const api = useApi();

  it('GET /healthz and /readyz need no key', async () => {
    assert.deepEqual((await api.send('GET', '/healthz', { key: null })).json, { status: 'ok' });
    const ready = await api.send('GET', '/readyz', { key: null });
    assert.equal(ready.status, 200);
    assert.equal(ready.json.status, 'ready');
    assert.ok(ready.json.checks.every((check: { ok: boolean }) => check.ok));
  });

  it('GET /readyz is 503 from the begin of a shutdown, while other requests are answered', async (t) => {
    api.app.shutdown.hasBegun = true;
    t.after(() => {
      api.app.shutdown.hasBegun = false;
    });
    const { status, json } = await api.send('GET', '/readyz', { key: null });
    assert.deepEqual([status, json.status], [503, 'not_ready']);
    assert.deepEqual(json.checks[0], { name: 'shutdown', ok: false, detail: 'This process is stopping.' });
    assert.equal((await api.send('GET', '/healthz', { key: null })).status, 200);
    const models = await api.send('GET', '/v1/models');
    assert.deepEqual([models.status, models.headers.get('connection')], [200, 'keep-alive']);
  });

  it('GET /version needs no key', async () => {
    assert.deepEqual((await api.send('GET', '/version', { key: null })).json, { version: '0.0.0' });
  });

  it('GET /readyz is 503 and names the failed store', async (t) => {
    t.mock.method(api.deps.blobs, 'check', () => Promise.reject(new Error('The disk is gone.')));
    const { status, json } = await api.send('GET', '/readyz', { key: null });
    assert.deepEqual([status, json.status], [503, 'not_ready']);
    const failed = json.checks.filter((each: { ok: boolean }) => !each.ok);
    assert.deepEqual(
      failed.map(({ name, detail }: { name: string; detail: string }) => [name, detail]),
      [['files', 'folder: The disk is gone.']],
    );
  });

  it('an engine that fails or hangs is named with ?verbose, and leaves the process ready', async (t) => {
    for (const check of [() => Promise.reject(new Error('The weights are gone.')), () => new Promise<void>(() => {})]) {
      t.mock.method(api.engine, 'check', check);
      const brief = await api.send('GET', '/readyz', { key: null });
      assert.deepEqual([brief.status, brief.json.status], [200, 'ready']);
      assert.deepEqual(
        brief.json.checks.map(({ name }: { name: string }) => name),
        ['database', 'files', 'index'],
      );
      for (const query of ['verbose', 'verbose=true']) {
        const { status, json } = await api.send('GET', `/readyz?${query}`, { key: null });
        assert.deepEqual([status, json.status], [200, 'ready']);
        const failed = json.checks.filter((each: { ok: boolean }) => !each.ok);
        assert.equal(failed.length, 1);
        assert.match(failed[0].name, /general-8b/);
        assert.match(failed[0].detail, /The weights are gone|no response within 3000 ms/);
      }
    }
  });

  it('GET /metrics is open from loopback, and requires the scope admin behind a proxy', async () => {
    const open = await api.send('GET', '/metrics', { key: null });
    assert.equal(open.status, 200);
    assert.match(open.text, /quire_http_request_seconds/);
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    assertError(await api.send('GET', '/metrics', { key: null, headers }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await api.send('GET', '/metrics', { key, headers }), 403, 'insufficient_scope');
    assert.equal((await api.send('GET', '/metrics', { headers })).status, 200);
  });

  it('counts generations by model and outcome, and requests in flight', async () => {
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };
    await api.send('POST', '/v1/chat/completions', { body });
    const { text } = await api.send('GET', '/metrics', { key: null });
    assert.match(text, /quire_generations_total\{model="general-8b",outcome="completed"\} 1/);
    assert.match(text, /quire_tokens_total\{model="general-8b",kind="prompt"\} 7/);
    assert.match(text, /quire_generations_in_flight 0/);
  });
});

describe('the API description', () => {
  const api = useApi();

  it('GET /openapi.json is OpenAPI 3.1 with an entry, an example body and errors for every route', async () => {
    const { json, status } = await api.send('GET', '/openapi.json', { key: null });
    assert.equal(status, 200);
    assert.match(json.openapi, /^3\.1/);
    const paths = [
      '/v1/models',
      '/v1/models/{model_id}',
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/moderations',
      '/v1/embeddings',
      '/v1/rerank',
      '/v1/knowledge-bases/{kb_id}/retrieve',
      '/v1/files',
      '/v1/files/{file_id}',
      '/v1/files/{file_id}/content',
      '/v1/admin/cache/stats',
      '/v1/admin/cache/reset',
      '/healthz',
      '/readyz',
      '/metrics',
    ];
    const described = new Set(Object.keys(json.paths));
    assert.deepEqual(
      paths.filter((path) => !described.has(path)),
      [],
    );
    for (const [path, field] of [
      ['/v1/chat/completions', 'messages'],
      ['/v1/completions', 'prompt'],
      ['/v1/moderations', 'input'],
      ['/v1/rerank', 'documents'],
    ] as const) {
      const { requestBody, responses } = json.paths[path].post;
      assert.ok(requestBody.content['application/json'].example[field]);
      assert.ok(responses['200'] && responses['404'] && responses['503'], JSON.stringify(Object.keys(responses)));
    }
  });

  it('describes every pattern in words instead of a regular expression', async () => {
    const wordless: string[] = [];
    const walk = (schema: unknown) => {
      if (typeof schema !== 'object' || schema === null) return;
      if ('pattern' in schema && typeof schema.pattern === 'string' && !(MUST in schema)) wordless.push(schema.pattern);
      Object.values(schema).forEach(walk);
    };
    walk((await api.send('GET', '/openapi.json', { key: null })).json);
    assert.deepEqual(wordless, []);
    const tool = { type: 'function', function: { name: 'a b' } };
    const body = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }], tools: [tool] };
    const { json } = await api.send('POST', '/v1/chat/completions', { body });
    assert.equal(json.error.message, "'tools.0.function.name' must be 1 to 64 letters, digits, '-', '_' and '.'.");
  });

  it('every example in the description is valid', async () => {
    const { json } = await api.send('GET', '/openapi.json', { key: null });
    for (const path of ['/v1/chat/completions', '/v1/completions']) {
      const body = json.paths[path].post.requestBody.content['application/json'].example;
      assert.equal((await api.send('POST', path, { body })).status, 200);
    }
  });

  it('GET /docs leads to the description where the console is not built', async () => {
    for (const path of ['/docs', '/docs/']) {
      const { status, headers } = await fetch(api.url + path, { redirect: 'manual' });
      assert.deepEqual([status, headers.get('location')], [302, '/openapi.json']);
    }
  });
});

describe('GET /metrics with QUIRE_METRICS_TOKEN', () => {
  const metricsToken = 'metrics-token-of-16-or-more';
  const api = useApi({ config: { metricsToken } });
  const proxied = { 'x-forwarded-for': '203.0.113.9' };
  const get = (path: string, authorization: string) =>
    api.send('GET', path, { key: null, headers: { ...proxied, authorization } });

  it('accepts the token from other machines', async () => {
    const { status, text } = await get('/metrics', `Bearer ${metricsToken}`);
    assert.equal(status, 200);
    assert.match(text, /^# TYPE quire_http_request_seconds histogram$/m);
  });

  it('rejects other tokens, and the token on other routes', async () => {
    for (const token of ['', metricsToken.slice(1), `${metricsToken}x`, metricsToken.toUpperCase()])
      assertError(await get('/metrics', `Bearer ${token}`), 401, 'invalid_api_key');
    assertError(await get('/metrics', metricsToken), 401, 'invalid_api_key');
    assertError(await get('/v1/models', `Bearer ${metricsToken}`), 401, 'invalid_api_key');
  });

  it('still accepts keys with the scope admin only', async () => {
    assert.equal((await get('/metrics', `Bearer ${api.key}`)).status, 200);
    const { key } = await api.makeKey({ scopes: ['inference'] });
    assertError(await get('/metrics', `Bearer ${key}`), 403, 'insufficient_scope');
  });
});
