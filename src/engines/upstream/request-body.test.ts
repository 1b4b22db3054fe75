import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../test/engine-conformance.ts';
import { MODEL_CONTEXT, MODEL_NAME, startModelServer } from '../../../test/fixtures/model-server.ts';
import { chunk, engineFor, finish, respondWithStream, scripted } from '../../../test/fixtures/scripted-upstream.ts';
import { startServer } from '../../../test/fixtures/upstream-server.ts';
import type { ChatPrompt, GenerationRequest } from '../engine.ts';
import { parseEndpoints } from './base-url.ts';
import { requestBody } from './request-body.ts';

const never = new AbortController().signal;
const defaults = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} };
const bodyOf = (request: GenerationRequest) => JSON.parse(requestBody(request, { model: 'm', isVllm: false }));
const plain = { sampling: defaults, maxTokens: null, incremental: false };
const good = respondWithStream(chunk({ content: 'a' }), finish('stop'), '[DONE]');

describe('requestBody', () => {
  it('contains only model and prompt for defaults', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    assert.deepEqual(bodyOf(chatRequest('Hi', plain)), { model: 'm', messages });
    assert.deepEqual(bodyOf(textRequest('Hi', plain)), { model: 'm', prompt: 'Hi' });
  });

  it('contains parameters of the caller, which replace none of its own', () => {
    const upstreamParameters = { top_k: 5, model: 'other', messages: [], max_tokens: 9, cache_salt: 'mine' };
    const request = chatRequest('Hi', { ...plain, maxTokens: 7, upstreamParameters });
    const { cache_salt: salt, ...body } = JSON.parse(requestBody(request, { model: 'm', isVllm: true }));
    assert.deepEqual(body, { top_k: 5, model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 7 });
    assert.match(salt, /^[0-9a-f]{64}$/);
  });

  it('contains every parameter that differs', () => {
    const sampling = {
      temperature: 0,
      topP: 0.5,
      presencePenalty: 1,
      frequencyPenalty: -1,
      seed: 0,
      logitBias: { 5: -100 },
    };
    const format = { type: 'json_schema', name: 'x', strict: true, schema: { type: 'object' } } as const;
    const body = bodyOf(chatRequest('Hi', { sampling, format, choices: 2, maxTokens: 7, stop: ['END'], logprobs: 3 }));
    assert.deepEqual(body, {
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      logprobs: true,
      top_logprobs: 3,
      max_tokens: 7,
      n: 2,
      stop: ['END'],
      temperature: 0,
      top_p: 0.5,
      presence_penalty: 1,
      frequency_penalty: -1,
      seed: 0,
      logit_bias: { 5: -100 },
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: { type: 'object' } } },
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('contains tools and a non-default choice, and no tool fields without tools', () => {
    const tools: ChatPrompt['tools'] = [{ type: 'function', function: { name: 'f' } }];
    const withTools = (changes: Partial<ChatPrompt>) => {
      const request = chatRequest('Hi', plain);
      const {
        model: _,
        messages: __,
        ...rest
      } = bodyOf({ ...request, prompt: { ...(request.prompt as ChatPrompt), ...changes } });
      return rest;
    };
    assert.deepEqual(withTools({ tools }), { tools });
    assert.deepEqual(withTools({ tools, toolChoice: 'required' }), { tools, tool_choice: 'required' });
    const named = { tools, tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false };
    assert.deepEqual(withTools({ tools, toolChoice: { name: 'f' }, parallelToolCalls: false }), named);
    assert.deepEqual(withTools({ toolChoice: 'none', parallelToolCalls: false }), {});
  });

  it('contains suffix and the number of log probabilities for a text', () => {
    const body = bodyOf(textRequest('', { ...plain, prompt: { kind: 'text', text: 'a', suffix: 'b' }, logprobs: 0 }));
    assert.deepEqual(body, { model: 'm', prompt: 'a', suffix: 'b', logprobs: 0 });
  });

  it('isolates tenants of vLLM by a hashed salt', async (t) => {
    const server = await startModelServer();
    t.after(server.close);
    const engine = engineFor(t, { baseUrls: [server.baseUrl], model: MODEL_NAME });
    await engine.check(never);
    for (const scope of ['org_a', 'org_a', 'org_b'])
      await collectGeneration(engine, chatRequest('Hi', { scope, maxTokens: 1 }));
    const salts = server.requests.filter(({ body }) => body).map(({ body }) => body?.['cache_salt']);
    assert.ok(salts[0] === salts[1] && salts[1] !== salts[2] && !JSON.stringify(salts).includes('org_'));
    assert.match(String(salts[0]), /^[0-9a-f]{64}$/);
  });

  it('isolates model ids of vLLM, and asks for usage in the first chunk of a stream', () => {
    const bodyFor = (cacheScope: string, isVllm = true) =>
      JSON.parse(requestBody(chatRequest('Hi', { cacheScope }), { model: 'm', isVllm }));
    assert.notEqual(bodyFor('org_a/general-8b').cache_salt, bodyFor('org_a/general-70b').cache_salt);
    assert.deepEqual(bodyFor('a').stream_options, { include_usage: true, continuous_usage_stats: true });
    assert.deepEqual(bodyFor('a', false).stream_options, { include_usage: true });
  });
});

describe('request URL', () => {
  it('is the base URL plus the path of OpenAI, with /v1 added to a URL without path', () => {
    const chat = (baseUrl: string) => parseEndpoints(baseUrl).origin + parseEndpoints(baseUrl).chat;
    assert.equal(chat('http://gpu:8000'), 'http://gpu:8000/v1/chat/completions');
    assert.equal(chat('http://gpu:8000/'), 'http://gpu:8000/v1/chat/completions');
    assert.equal(chat('http://gpu:8000/v1/'), 'http://gpu:8000/v1/chat/completions');
    assert.equal(chat('https://a.example/openai/v2'), 'https://a.example/openai/v2/chat/completions');
    assert.equal(chat('https://a.example/v1?api-version=2'), 'https://a.example/v1/chat/completions?api-version=2');
    const beside = ({ rerankTexts, tokenize, info }: ReturnType<typeof parseEndpoints>) => [
      rerankTexts,
      tokenize,
      info,
    ];
    assert.deepEqual(beside(parseEndpoints('http://gpu:8000')), ['/rerank', '/tokenize', '/info']);
    assert.deepEqual(beside(parseEndpoints('http://a.example/tei/v1?key=2')), [
      '/tei/rerank?key=2',
      '/tei/tokenize?key=2',
      '/tei/info?key=2',
    ]);
    for (const wrong of ['ftp://a', 'gpu:8000', 'nothing', '']) assert.throws(() => parseEndpoints(wrong), TypeError);
  });

  it('carries the key and goes to the path of its prompt', async (t) => {
    const { engine, posts } = await scripted(t, good, { apiKey: 'sk-1' });
    await collectGeneration(engine, chatRequest('Hi'));
    await collectGeneration(engine, textRequest('Hi'));
    assert.deepEqual(
      posts().map(({ path, headers }) => [path, headers.authorization]),
      [
        ['/v1/chat/completions', 'Bearer sk-1'],
        ['/v1/completions', 'Bearer sk-1'],
      ],
    );
  });

  it('uses the configured proxy, except for excluded hosts', async (t) => {
    const proxy = await startServer(good);
    t.after(proxy.close);
    const httpProxy = proxy.baseUrl.replace('/v1', '');
    const { engine, server } = await scripted(t, good, {
      proxy: { httpProxy, httpsProxy: null, noProxy: '127.0.0.1' },
    });
    await collectGeneration(engine, chatRequest('Hi'));
    assert.equal(proxy.requests.length, 0);
    const through = engineFor(t, { baseUrls: [server.baseUrl], proxy: { httpProxy, httpsProxy: null, noProxy: null } });
    await collectGeneration(through, chatRequest('Hi'));
    assert.ok(proxy.requests.some(({ path }) => path === `${server.baseUrl}/chat/completions`));
  });
});

describe('state of the engine', () => {
  it('is ready once the upstream responded, with its context length', async (t) => {
    const server = await startModelServer();
    t.after(server.close);
    const engine = engineFor(t, { baseUrls: [server.baseUrl], model: MODEL_NAME });
    assert.deepEqual(engine.backend(), { engine: 'upstream', model: MODEL_NAME, parameters: null, ready: false });
    assert.equal(engine.contextLength(), null);
    await engine.check(never);
    assert.equal(engine.backend().ready, true);
    assert.equal(engine.contextLength(), MODEL_CONTEXT);
    const reported = engineFor(t, { baseUrls: [server.baseUrl], contextLength: 100 });
    assert.equal(reported.contextLength(), 100);
    const { suffix, promptLogprobs } = reported.features();
    assert.deepEqual({ suffix, promptLogprobs }, { suffix: true, promptLogprobs: false });
  });

  it('check passes without a model list, and reports the problem of others', async (t) => {
    const { engine } = await scripted(t, good);
    await engine.check(never);
    for (const [status, says] of [
      [401, /rejects the API key/],
      [500, /status 500/],
    ] as const) {
      const server = await startServer(good, undefined, status);
      t.after(server.close);
      await assert.rejects(engineFor(t, { baseUrls: [server.baseUrl] }).check(never), says);
    }
    await assert.rejects(engine.check(AbortSignal.abort(new Error('enough'))), /enough/);
  });
});
