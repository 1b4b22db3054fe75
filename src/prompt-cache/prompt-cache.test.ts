import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { until } from '../../test/deadline.ts';
import { sendEvents, startServer, type TestServer } from '../../test/fixtures/upstream-server.ts';
import { assertError, assertSchema, bindCatalogue, type TestApi, useApi } from '../../test/harness.ts';
import { scriptedEngine, stream, untilAborted } from '../../test/scripted-engine.ts';
import type { GenerationEngine, GenerationEvent } from '../engines/engine.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream-engine.ts';
import { engineUnavailable } from '../errors.ts';
import { createLogger } from '../lib/logger.ts';
import { CacheStatistics } from './schema.ts';

const STATS = '/v1/admin/cache/stats';
const RESET = '/v1/admin/cache/reset';

/** A completion of one word per choice for a prompt of ten tokens, of which `cached` were cached. */
function answer(cachedTokens: number, choices = 1): GenerationEvent[] {
  return [
    { type: 'prompt-end', promptTokens: 10, cachedTokens },
    ...Array.from({ length: choices }, (_, choice): GenerationEvent[] => [
      { type: 'text-delta', choice, text: 'Yes', tokens: 1 },
      { type: 'choice-end', choice, reason: 'stop' },
    ]).flat(),
    { type: 'usage', usage: { promptTokens: 10, cachedTokens, completionTokens: choices } },
  ];
}

const counted = async (api: TestApi) => {
  const { json } = await api.send('GET', STATS);
  assertSchema(CacheStatistics, json);
  return [json.hit_count, json.miss_count, json.cached_tokens_total];
};
const chat = (api: TestApi, body: object = {}) =>
  api.send('POST', '/v1/chat/completions', {
    body: { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }], ...body },
  });
const complete = (api: TestApi, body: object = {}) =>
  api.send('POST', '/v1/completions', { body: { model: 'general-8b', prompt: 'Hi', ...body } });
const cacheStatusHeader = ({ headers }: { headers: Headers }) => headers.get('x-cache-status');

/** Starts a stream, disconnects at its first byte, and waits until it is counted. */
async function leave(api: TestApi): Promise<string | null> {
  const before = await counted(api);
  const controller = new AbortController();
  const response = await fetch(`${api.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'general-8b', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    signal: controller.signal,
  });
  await response.body?.getReader().read();
  controller.abort();
  await until(async () => (await counted(api)).join() !== before.join());
  return cacheStatusHeader(response);
}

describe('GET /v1/admin/cache/stats and POST /v1/admin/cache/reset', () => {
  const api = useApi();
  const routes = [
    ['GET', STATS],
    ['POST', RESET],
  ] as const;

  for (const [method, path] of routes) {
    it(`${method} ${path}: 200 for the scope admin alone, in the form of the schema`, async () => {
      const { key } = await api.makeKey({ scopes: ['admin'] });
      const { status, json, headers } = await api.send(method, path, { key });
      assert.equal(status, 200);
      assertSchema(CacheStatistics, json);
      assert.ok(headers.get('x-request-id') && headers.get('x-ratelimit-limit-requests'));
    });
    it(`${method} ${path}: 401 without a key and with a wrong one`, async () => {
      assertError(await api.send(method, path, { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, path, { key: 'quire-sk-nobody' }), 401, 'invalid_api_key');
    });
    it(`${method} ${path}: 403 insufficient_scope with every scope but admin, of whatever organization`, async () => {
      const scopes = ['inference', 'files', 'knowledge', 'guardrails'] as const;
      for (const organization of ['default', 'another']) {
        const { key } = await api.makeKey({ scopes, organization });
        assertError(await api.send(method, path, { key }), 403, 'insufficient_scope');
      }
    });
  }

  it('405 with Allow for other methods', async () => {
    const posted = await api.send('POST', STATS);
    assertError(posted, 405, 'method_not_allowed');
    assert.match(posted.headers.get('allow') ?? '', /GET/);
    for (const method of ['GET', 'DELETE']) {
      const answered = await api.send(method, RESET);
      assertError(answered, 405, 'method_not_allowed');
      assert.equal(answered.headers.get('allow'), 'POST');
    }
  });

  it('a rejected reset has no effect', async () => {
    api.engine.play(() => stream(answer(4)));
    await chat(api);
    const { key } = await api.makeKey({ scopes: ['inference'] });
    await api.send('POST', RESET, { key });
    assert.deepEqual(await counted(api), [1, 0, 4]);
  });

  it('a reset returns the zeroed statistics, keeps the caches, and accepts a body', async () => {
    api.engine.cache = { bytes: 2_097_152, entries: 3, evictions: 7 };
    const zeroed = {
      ...{ hit_count: 0, miss_count: 0, hit_rate: 0, cached_tokens_total: 0, evictions: 0, uptime_seconds: 0 },
      ...{ memory_usage_mb: 2, entries: 3 },
    };
    const { uptime_seconds: _, ...counts } = zeroed;
    for (const body of [undefined, {}]) {
      api.engine.play(() => stream(answer(4)));
      await chat(api);
      const { status, json } = await api.send('POST', RESET, { body });
      assert.equal(status, 200);
      const [model, ...shared_with] = api.deps.models
        .list()
        .flatMap(({ id, engine }) => (engine === api.engine ? [id] : []));
      assert.deepEqual(json, { ...zeroed, models: [{ model, ...counts, shared_with }] });
      assert.deepEqual(await counted(api), [0, 0, 0]);
    }
    api.engine.cache = null;
  });

  it('a reset accepts a named content type without a body, as OpenAI clients send it, and reads no body', async () => {
    const headers = { 'content-type': 'application/json' };
    assert.equal((await api.send('POST', RESET, { headers })).status, 200);
    assert.equal((await api.send('GET', STATS, { headers })).status, 200);
    assert.equal((await api.send('POST', RESET, { body: '{' })).status, 200);
    const chatted = await api.send('POST', '/v1/chat/completions', { headers });
    assertError(chatted, 400, 'invalid_json');
  });

  it('both are in the OpenAPI description, with a valid example', async () => {
    const { json } = await api.send('GET', '/openapi.json', { key: null });
    for (const [method, path] of routes) {
      const { responses, summary } = json.paths[path][method.toLowerCase()];
      assert.ok(summary);
      const { example, schema } = responses['200'].content['application/json'];
      const named = json.components.schemas[schema.$ref?.split('/').at(-1)];
      assertSchema(CacheStatistics, example ?? named?.examples?.[0]);
      for (const status of ['401', '403', '429', '500']) assert.ok(responses[status], status);
    }
  });
});

describe('counting of prompts', () => {
  const api = useApi();
  beforeEach(() => api.send('POST', RESET));

  for (const stream_ of [false, true]) {
    const way = stream_ ? 'streamed' : 'in one piece';
    it(`a hit and a miss, chat and text, ${way}, as X-Cache-Status says`, async () => {
      for (const ask of [chat, complete]) {
        api.engine.play(() => stream(answer(0)));
        assert.equal(cacheStatusHeader(await ask(api, { stream: stream_ })), 'MISS');
        api.engine.play(() => stream(answer(6)));
        assert.equal(cacheStatusHeader(await ask(api, { stream: stream_ })), 'HIT');
      }
      assert.deepEqual(await counted(api), [2, 2, 12]);
      assert.equal((await api.send('GET', STATS)).json.hit_rate, 0.5);
    });
    it(`several answers to one prompt once, ${way}`, async () => {
      for (const ask of [chat, complete]) {
        api.engine.play(({ choices }) => stream(answer(6, choices)));
        assert.equal(cacheStatusHeader(await ask(api, { n: 3, stream: stream_ })), 'HIT');
        api.engine.play(({ choices }) => stream(answer(0, choices)));
        assert.equal(cacheStatusHeader(await ask(api, { n: 3, stream: stream_ })), 'MISS');
      }
      assert.deepEqual(await counted(api), [2, 2, 12]);
    });
    it(`an answer that breaks off after its prompt once, and one that fails before not at all, ${way}`, async () => {
      api.engine.play(async function* () {
        yield* answer(6).slice(0, 2);
        throw engineUnavailable('The engine stopped.', 1);
      });
      await chat(api, { stream: stream_ });
      assert.deepEqual(await counted(api), [1, 0, 6]);
      api.engine.play(() => {
        throw engineUnavailable('The engine stopped.', 1);
      });
      await chat(api, { stream: stream_ });
      assert.deepEqual(await counted(api), [1, 0, 6]);
    });
  }

  it('counts each prompt of a list', async () => {
    api.engine.play(({ prompt }) => stream(answer(prompt.kind === 'text' && prompt.text === 'new' ? 0 : 6)));
    await complete(api, { prompt: ['old', 'new', 'older'] });
    assert.deepEqual(await counted(api), [2, 1, 12]);
  });

  it('counts a stream whose client disconnects', async () => {
    api.engine.play(async function* (_request, signal) {
      yield* answer(6).slice(0, 2);
      await untilAborted(signal);
    });
    assert.equal(await leave(api), 'HIT');
    assert.deepEqual(await counted(api), [1, 0, 6]);
  });

  it('counts all models and organizations', async () => {
    const { key } = await api.makeKey({ organization: 'another' });
    api.engine.play(() => stream(answer(6)));
    const body = { messages: [{ role: 'user', content: 'Hi' }] };
    for (const model of ['general-8b', 'code-latest']) {
      await api.send('POST', '/v1/chat/completions', { body: { ...body, model } });
      await api.send('POST', '/v1/chat/completions', { body: { ...body, model }, key });
    }
    assert.deepEqual(await counted(api), [4, 0, 24]);
    const { text } = await api.send('GET', '/metrics', { key: null });
    assert.match(text, /quire_prompt_cache_hits_total\{model="code-latest"\} 2\n/);
    assert.doesNotMatch(text, /quire_prompt_cache_\w+\{[^}]*org/);
  });

  it('ignores rejected requests', async () => {
    const calls = api.engine.calls.length;
    await chat(api, { model: 'nothing' });
    await chat(api, { messages: [] });
    await api.send('POST', '/v1/chat/completions', { body: {}, key: null });
    assert.equal(api.engine.calls.length, calls);
    assert.deepEqual(await counted(api), [0, 0, 0]);
  });

  it('limits cached tokens to the prompt tokens', async () => {
    for (const cached of [99, -5, Number.NaN, 2.5]) {
      await api.send('POST', RESET);
      api.engine.play(() => stream(answer(cached)));
      const { json } = await chat(api);
      const { prompt_tokens, prompt_tokens_details } = json.usage;
      const expected = { 99: 10, 2.5: 2 }[cached] ?? 0;
      assert.deepEqual([prompt_tokens, prompt_tokens_details.cached_tokens], [10, expected]);
      assert.deepEqual(await counted(api), expected > 0 ? [1, 0, expected] : [0, 1, 0]);
    }
  });
});

describe('cached tokens reported by an upstream', () => {
  let server: TestServer;
  let engine: GenerationEngine;
  let told: object = {};
  const choice = { index: 0, delta: { content: 'Yes' }, message: { content: 'Yes' }, finish_reason: 'stop' };
  before(async () => {
    server = await startServer(({ body }, response) => {
      const usage = { prompt_tokens: 10, completion_tokens: 1, ...told };
      if (body?.['stream'] !== true) return void response.end(JSON.stringify({ choices: [choice], usage }));
      sendEvents(response, [{ choices: [{ index: 0, delta: { content: 'Yes' } }] }]);
      // Without usage the stream stays open, for a client that disconnects.
      if (told === NEVER) return;
      sendEvents(response, [{ choices: [choice] }, { choices: [], usage }, '[DONE]']);
      response.end();
    });
  });
  after(async () => {
    await engine.close();
    await server.close();
  });
  const NEVER = {};
  const api = useApi({
    models: () => {
      const options = { model: 'm', apiKey: null, contextLength: null, proxy: null, logger: createLogger('silent') };
      engine = createUpstreamEngine({ ...options, baseUrls: [server.baseUrl] });
      return bindCatalogue(Object.assign(scriptedEngine(), { generate: engine.generate.bind(engine) }));
    },
  });
  beforeEach(() => api.send('POST', RESET));

  it('count as a hit, streamed or not, in both response formats', async () => {
    for (const stream of [false, true]) {
      for (const said of [{ prompt_tokens_details: { cached_tokens: 8 } }, { prompt_cache_hit_tokens: 8 }]) {
        told = said;
        await chat(api, { stream });
      }
    }
    assert.deepEqual(await counted(api), [4, 0, 32]);
  });

  it('set X-Cache-Status of a non-streamed response', async () => {
    told = { prompt_tokens_details: { cached_tokens: 8 } };
    assert.equal(cacheStatusHeader(await chat(api)), 'HIT');
    told = {};
    assert.equal(cacheStatusHeader(await chat(api)), 'MISS');
  });

  it('count as a miss when absent or invalid, and are limited to the prompt', async () => {
    for (const cached_tokens of [undefined, null, 'many', -3]) {
      told = { prompt_tokens_details: { cached_tokens } };
      await chat(api);
    }
    assert.deepEqual(await counted(api), [0, 4, 0]);
    told = { prompt_tokens_details: { cached_tokens: 1e300 } };
    const { json } = await chat(api);
    assert.equal(json.usage.prompt_tokens_details.cached_tokens, 10);
    assert.deepEqual(await counted(api), [1, 4, 10]);
  });

  it('are clamped when they overflow the record', async () => {
    told = { completion_tokens: 1e300 };
    const { status, json } = await chat(api);
    assert.equal(status, 200);
    assert.equal(json.usage.completion_tokens, 2_147_483_647);
  });

  it('count as a miss when the client disconnects before the report', async () => {
    told = NEVER;
    assert.equal(await leave(api), 'MISS');
    assert.deepEqual(await counted(api), [0, 1, 0]);
  });
});
