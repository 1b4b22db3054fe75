import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, assertSchema, bindCatalogue, useApi } from '../../../test/harness.ts';
import { servedModel, stream, words } from '../../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { usageRecords } from '../../billing/tables.ts';
import { EMBEDDING_DIMENSIONS } from '../../engines/embedding-engine.ts';
import type { GenerationEvent } from '../../engines/engine.ts';
import {
  OllamaChatResponse,
  OllamaEmbedResponse,
  OllamaGenerateResponse,
  OllamaModelDetails,
  OllamaModels,
} from './schema.ts';

const PNG = `iVBORw0KGgo${'A'.repeat(40)}`;
const user = (content: string, more: object = {}) => ({ role: 'user', content, ...more });
const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });

/** Reasoning, a text and two calls. The arguments of the second one are cut off. */
const THINKS_AND_CALLS: GenerationEvent[] = [
  { type: 'prompt-end', promptTokens: 30, cachedTokens: 20 },
  { type: 'reasoning-delta', choice: 0, text: 'Let me see.', tokens: 1 },
  { type: 'text-delta', choice: 0, text: 'I read "it".', tokens: 3 },
  { type: 'tool-call-delta', choice: 0, index: 0, id: 'call_a', name: 'read', arguments: '{"path":', tokens: 1 },
  { type: 'tool-call-delta', choice: 0, index: 0, arguments: '"a\\"b"}', tokens: 1 },
  { type: 'tool-call-delta', choice: 0, index: 1, id: 'call_b', name: 'list', arguments: '{"a":', tokens: 1 },
  { type: 'choice-end', choice: 0, reason: 'tool_calls' },
  { type: 'usage', usage: { promptTokens: 30, cachedTokens: 20, completionTokens: 10 } },
];
const CALLS = [
  { id: 'call_a', function: { index: 0, name: 'read', arguments: { path: 'a"b' } } },
  { id: 'call_b', function: { index: 1, name: 'list', arguments: {} } },
];

const embedding = {
  backend: () => ({ engine: 'bundled' as const, model: 'scripted', parameters: 1_500_000_000, ready: true }),
  check: async () => {},
  close: async () => {},
  fingerprint: () => 'scripted',
  countTokens: async (texts: readonly string[]) => texts.map(() => 1),
  embed: async ({ texts }: { texts: readonly string[] }) => ({
    vectors: texts.map((text) => new Float32Array(EMBEDDING_DIMENSIONS).fill(text.length)),
    tokens: texts.length,
  }),
};

describe('the API of Ollama', () => {
  const api = useApi({
    models: (engine) => [
      ...bindCatalogue(engine).map((model) => (model.id.startsWith('embed') ? { ...model, embedding } : model)),
      { ...servedModel(engine), id: 'llava:7b', capabilities: { ...servedModel(engine).capabilities, vision: true } },
    ],
  });
  const post = (path: string, body: object, key = api.key) => api.send('POST', `/api/${path}`, { body, key });
  const chat = (body: object) => post('chat', { model: 'general-8b', messages: [user('Hi')], stream: false, ...body });
  const generate = (body: object) => post('generate', { model: 'general-8b', prompt: 'Hi', stream: false, ...body });
  const sent = () => api.engine.calls.at(-1)!.request;
  const sentPrompt = () => {
    const { prompt } = sent();
    assert.ok(prompt.kind === 'chat');
    return prompt;
  };
  const lines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('answers a chat with counts and durations', async () => {
    api.engine.play(() => stream(words('Hello there.', 'length')));
    const { status, json, headers } = await chat({ model: 'general-8b:latest' });
    assert.equal(status, 200);
    assertSchema(OllamaChatResponse, json);
    assert.deepEqual(json.message, { role: 'assistant', content: 'Hello there.' });
    assert.deepEqual(
      [json.model, json.done, json.done_reason, json.prompt_eval_count, json.eval_count],
      ['general-8b:latest', true, 'length', 7, 2],
    );
    assert.ok(json.total_duration >= json.prompt_eval_duration + json.eval_duration - 2 && json.eval_duration > 0);
    assert.ok(!Number.isNaN(Date.parse(json.created_at)));
    assert.equal(headers.get('x-cache-status'), 'MISS');
  });

  it('streams one object per line by default, and the parts equal the whole answer', async () => {
    for (const think of [true, false, undefined]) {
      const request = { think, tools: [tool('read'), tool('list')] };
      api.engine.play(() => stream(THINKS_AND_CALLS));
      const whole = (await chat(request)).json;
      const { text, headers } = await chat({ ...request, stream: undefined });
      assert.match(headers.get('content-type') ?? '', /^application\/x-ndjson/);
      assert.ok(text.endsWith('\n'));
      const objects = lines(text);
      for (const object of objects) assertSchema(OllamaChatResponse, object);
      assert.deepEqual(
        objects.map(({ done }) => done),
        objects.map((_, at) => at === objects.length - 1),
      );
      const join = (field: string) => objects.map(({ message }) => message[field] ?? '').join('');
      assert.equal(join('content'), whole.message.content);
      assert.equal(join('thinking'), think === false ? '' : 'Let me see.');
      assert.equal(whole.message.thinking, think === false ? undefined : 'Let me see.');
      assert.deepEqual(whole.message.tool_calls, CALLS);
      assert.deepEqual(
        objects.flatMap(({ message }) => message.tool_calls ?? []),
        CALLS,
      );
      assert.equal(objects.at(-1).done_reason, 'stop');
      assert.equal(objects.at(-1).eval_count, 10);
    }
  });

  it('ends a stream that fails with an object that has the error', async () => {
    api.engine.play(async function* () {
      yield* words('Hello').slice(0, 2);
      throw new Error('engine fault');
    });
    const objects = lines((await chat({ stream: true })).text);
    assert.deepEqual(objects.at(-1).code, 'server_error');
    assert.equal(typeof objects.at(-1).error, 'string');
    assert.ok(objects.every(({ done }) => done !== true));
  });

  it('passes sampling options to every engine, and listed options to upstream servers', async () => {
    const options = { temperature: 0.5, top_p: 0.25, seed: -3, stop: ['a"', 'b', 'a"'], num_predict: 9, num_ctx: null };
    await chat({ options: { ...options, presence_penalty: 1, frequency_penalty: -1, top_k: 3 }, think: 'high' });
    const { sampling, stop, maxTokens, upstreamParameters } = sent();
    assert.deepEqual(sampling, {
      ...{ temperature: 0.5, topP: 0.25, seed: -3, presencePenalty: 1, frequencyPenalty: -1, logitBias: {} },
    });
    assert.deepEqual([stop, maxTokens, upstreamParameters], [['a"', 'b'], 9, { reasoning_effort: 'high' }]);
    for (const most of [0, -1, -2]) {
      await generate({ options: { num_predict: most }, think: false });
      assert.equal(sent().maxTokens, null);
      assert.deepEqual(sent().upstreamParameters, { reasoning_effort: 'none' });
    }
  });

  it('constrains the answer by format', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } } };
    for (const [format, expected] of [
      ['', { type: 'text' }],
      ['json', { type: 'json_object' }],
      [schema, { type: 'json_schema', name: 'response', strict: true, schema, path: 'format' }],
    ] as const) {
      await chat({ format });
      assert.deepEqual(sent().format, expected);
      await generate({ format });
      assert.deepEqual(sent().format, expected);
    }
  });

  it('shows the log probabilities of the tokens', async () => {
    const top = [{ token: 'b', logprob: -2, bytes: [98] }];
    api.engine.play(() =>
      stream([
        { type: 'prompt-end', promptTokens: 1, cachedTokens: 0 },
        {
          type: 'text-delta',
          choice: 0,
          text: 'a',
          tokens: 1,
          logprobs: [{ token: 'a', logprob: -1, bytes: [97], top }],
        },
        { type: 'choice-end', choice: 0, reason: 'stop' },
        { type: 'usage', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } },
      ]),
    );
    const { json } = await chat({ logprobs: true, top_logprobs: 1 });
    assert.equal(sent().logprobs, 1);
    assert.deepEqual(json.logprobs, [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: top }]);
  });

  it('matches results of tools to calls by id, by name, and in order', async () => {
    const call = (name: string, id?: string) => ({ ...(id && { id }), function: { name, arguments: { x: 'ü "' } } });
    const messages = [
      user('Go'),
      {
        role: 'assistant',
        content: '',
        thinking: 'hm',
        tool_calls: [call('a'), call('b'), call('a', 'own'), call('c')],
      },
      { role: 'tool', content: 'of b', tool_name: 'b' },
      { role: 'tool', content: 'of own', tool_call_id: 'own' },
      { role: 'tool', content: 'first open' },
      { role: 'tool', content: 'of c', tool_name: 'c' },
      { role: 'tool', content: 'of none', tool_name: 'z' },
    ];
    await chat({ messages });
    const [, assistant, ...results] = sentPrompt().messages;
    assert.equal(assistant?.content, null);
    assert.deepEqual(
      assistant?.tool_calls?.map(({ id }) => id),
      ['call_0', 'call_1', 'own', 'call_2'],
    );
    assert.equal(assistant?.tool_calls?.[0]?.function.arguments, '{"x":"ü \\""}');
    assert.deepEqual(
      results.map(({ tool_call_id: id }) => id),
      ['call_1', 'own', 'call_0', 'call_2', 'call_3'],
    );
  });

  it('sends images to models that see, with their type', async () => {
    for (const [image, type] of [
      [PNG, 'png'],
      ['/9j/AAAA', 'jpeg'],
      ['R0lGODlhAAAA', 'gif'],
      ['UklGRgAAAA', 'webp'],
    ]) {
      await chat({ model: 'llava:7b', messages: [user('See', { images: [image] })] });
      const images = [{ at: 0, url: `data:image/${type};base64,${image}` }];
      assert.deepEqual(sentPrompt().messages[0]?.images, images);
      await generate({ model: 'llava:7b', images: [image] });
      assert.deepEqual(sentPrompt().messages[0]?.images, images);
    }
  });

  it('400 naming the field of an image that no model can read', async () => {
    const see = (images: unknown[], more: object = {}) =>
      chat({ model: 'llava:7b', messages: [user('a'), user('See', { images, ...more })] });
    assertError(await see([PNG, 'http://10.0.0.1/a.png']), 400, 'invalid_value', 'messages.1.images.1');
    assertError(await see(['data:image/png;base64,?']), 400, 'invalid_value', 'messages.1.images.0');
    assertError(await see([PNG], { role: 'assistant' }), 400, 'invalid_value', 'messages.1.images.0');
    assertError(await see([1]), 400, 'invalid_value', 'messages.1.images.0');
    assertError(await generate({ images: [PNG] }), 400, 'invalid_value', 'images.0');
    assertError(await generate({ model: 'llava:7b', images: ['x'] }), 400, 'invalid_value', 'images.0');
  });

  it('generate applies the chat template unless the prompt is raw', async () => {
    for (const text of AWKWARD_TEXTS) {
      await generate({ prompt: `x${text}`, system: text });
      const expected = [
        { role: 'system', content: text },
        { role: 'user', content: `x${text}` },
      ];
      assert.deepEqual(sentPrompt().messages, expected);
      api.engine.play(() => stream(words('Hello there.')));
      const { json } = await generate({ prompt: `x${text}`, raw: true, options: { num_predict: 5 } });
      assertSchema(OllamaGenerateResponse, json);
      assert.equal(json.response, 'Hello there.');
      assert.deepEqual(sent().prompt, { kind: 'text', text: `x${text}`, suffix: null });
      assert.equal(sent().maxTokens, 5);
    }
    await generate({ raw: true });
    assert.equal(sent().maxTokens, null);
    const objects = lines((await generate({ raw: true, stream: true })).text);
    assert.equal(objects.map(({ response }) => response).join(''), 'Hello there.');
  });

  it('400 for fields of generate that have no effect here', async () => {
    assertError(await generate({ template: '{{ .Prompt }}' }), 400, 'invalid_value', 'template');
    assertError(await generate({ context: [1, 2] }), 400, 'invalid_value', 'context');
    assertError(await generate({ raw: true, system: 'a' }), 400, 'invalid_value', 'system');
    assertError(await generate({ raw: true, format: {} }), 400, 'invalid_value', 'format');
    assertError(await generate({ raw: true, images: [PNG] }), 400, 'invalid_value', 'images');
    assertError(await generate({ suffix: 'a', format: 'json' }), 400, 'invalid_value', 'format');
    // The scripted model cannot fill in the middle.
    assertError(await generate({ suffix: 'a' }), 400, 'invalid_value', 'suffix');
    assert.equal((await generate({ context: [], template: '', suffix: '', images: [], raw: false })).status, 200);
  });

  it('400, 403 and 404 in the form of Ollama, naming the field', async () => {
    assertError(await chat({ model: undefined }), 400, 'missing_required_field', 'model');
    assertError(await chat({ format: 'xml' }), 400, 'invalid_value', 'format');
    assertError(await chat({ think: 'much' }), 400, 'invalid_value', 'think');
    assertError(await chat({ options: { temperature: 3 } }), 400, 'invalid_value', 'options.temperature');
    assertError(await chat({ options: { stop: ['a', 'b', 'c', 'd', 'e'] } }), 400, 'invalid_value', 'options.stop');
    assertError(await chat({ messages: [{ role: 'critic' }] }), 400, 'invalid_value', 'messages.0.role');
    const calls = [{ function: { name: 'a', arguments: '{}' } }];
    const path = 'messages.0.tool_calls.0.function.arguments';
    assertError(await chat({ messages: [{ role: 'assistant', tool_calls: calls }] }), 400, 'invalid_value', path);
    const ofUser = [user('a', { tool_calls: [{ function: { name: 'a' } }] })];
    assertError(await chat({ messages: ofUser }), 400, 'invalid_value', 'messages.0.tool_calls');
    const twice = await chat({ tools: [tool('a'), tool('a')] });
    assertError(twice, 400, 'invalid_value', 'tools.1.function.name');
    assertError(await chat({ model: 'llama3:latest' }), 404, 'model_not_found', 'model');
    assertError(await chat({ model: 'embed-large-en-v1.5' }), 404, 'model_not_found', 'model');
    const { key } = await api.makeKey({ models: ['general-70b'] });
    const body = { model: 'general-8b', messages: [user('a')] };
    assertError(await post('chat', body, key), 403, 'insufficient_scope', 'model');
    assertError(await post('show', body, key), 403, 'insufficient_scope', 'model');
    const names = (await api.send('GET', '/api/tags', { key })).json.models.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, ['general-70b:latest']);
    api.engine.play(() => stream(words('Hello', 'stop', 4096)));
    assertError(await chat({}), 400, 'context_length_exceeded', 'messages');
  });

  it('loads a model without a prompt, and lets only admins unload it', async () => {
    const calls = api.engine.calls.length;
    for (const [path, body] of [
      ['chat', { messages: [] }],
      ['generate', { prompt: '' }],
    ] as const) {
      const { json } = await post(path, { model: 'general-8b:latest', keep_alive: '5m', ...body });
      assert.deepEqual([json.done, json.done_reason], [true, 'load']);
      assertSchema(path === 'chat' ? OllamaChatResponse : OllamaGenerateResponse, json);
      const { key } = await api.makeKey({ scopes: ['inference'] });
      const unload = { model: 'general-8b:latest', keep_alive: 0, ...body };
      assertError(await post(path, unload, key), 403, 'insufficient_scope', 'keep_alive');
      // The scripted engine is always loaded.
      assertError(await post(path, unload), 400, 'invalid_value', 'model');
      assertError(await post(path, { ...unload, model: 'x' }), 404, 'model_not_found', 'model');
    }
    assert.equal(api.engine.calls.length, calls);
  });

  it('embeds one text or several, and meters them', async () => {
    const model = 'embed-large-en-v1.5:latest';
    const { json, headers } = await post('embed', { model, input: ['a', 'bbb'], truncate: true, options: {} });
    assertSchema(OllamaEmbedResponse, json);
    assert.deepEqual([json.model, json.prompt_eval_count], [model, 2]);
    assert.deepEqual(
      json.embeddings.map((vector: number[]) => [vector.length, vector[0]]),
      [
        [EMBEDDING_DIMENSIONS, 1],
        [EMBEDDING_DIMENSIONS, 3],
      ],
    );
    const records = await api.db.sql.select().from(usageRecords);
    const own = records.filter(({ requestId }) => requestId === headers.get('x-request-id'));
    assert.deepEqual(
      own.map(({ promptTokens }) => promptTokens),
      [2],
    );
    assert.equal((await post('embed', { model, input: 'a' })).json.embeddings.length, 1);
    assert.equal((await post('embeddings', { model, prompt: 'abc' })).json.embedding[0], 3);
    assertError(await post('embed', { model, input: [] }), 400, 'invalid_value', 'input');
    assertError(await post('embed', { model, input: 'a', dimensions: 3 }), 400, 'invalid_value', 'dimensions');
    assertError(await post('embeddings', { model }), 400, 'missing_required_field', 'prompt');
    assertError(await post('embed', { model: 'general-8b', input: 'a' }), 404, 'model_not_found', 'model');
  });

  it('lists and shows the models that chat or embed', async () => {
    for (const path of ['tags', 'ps']) {
      const { json } = await api.send('GET', `/api/${path}`);
      assertSchema(OllamaModels, json);
      const names = json.models.map(({ name }: { name: string }) => name);
      assert.ok(names.includes('general-8b:latest') && names.includes('llava:7b'), names.join());
      assert.ok(names.includes('embed-large-en-v1.5:latest') && !names.includes('moderation-v1:latest'));
      for (const { name } of json.models) {
        const shown = (await post('show', { model: name })).json;
        assertSchema(OllamaModelDetails, shown);
        assert.ok(shown.model_info['quire.context_length'] > 0);
      }
    }
    const { json: sees } = await post('show', { name: 'llava:7b' });
    assert.deepEqual(sees.capabilities, ['completion', 'tools', 'vision']);
    const { json: embeds } = await post('show', { model: 'embed-large-en-v1.5' });
    assert.deepEqual([embeds.capabilities, embeds.details.parameter_size], [['embedding'], '1.5B']);
    assertError(await post('show', {}), 400, 'missing_required_field', 'model');
    assertError(await post('show', { model: 'x:latest' }), 404, 'model_not_found', 'model');
  });

  it('answers probes of clients without a key', async () => {
    const { json } = await api.send('GET', '/api/version', { key: null });
    assert.match(json.version, /^\d+\.\d+\.\d+$/);
    assert.equal((await api.send('HEAD', '/', { key: null })).status, 200);
  });

  it('400 for operations that Quire does not have, and for models that cannot be pulled', async () => {
    for (const [method, path, param] of [
      ['POST', 'create', 'model'],
      ['POST', 'copy', 'source'],
      ['POST', 'push', 'model'],
      ['DELETE', 'delete', 'model'],
    ] as const) {
      const body = { model: 'a', source: 'a', destination: 'b' };
      assertError(await api.send(method, `/api/${path}`, { body }), 400, 'invalid_value', param);
    }
    for (const name of ['https://example.com/a.gguf', 'no"thing:1b', 'qwen2.5:1000b', '../a'])
      assertError(await post('pull', { model: name }), 400, 'invalid_value', 'model');
    assertError(await post('pull', {}), 400, 'missing_required_field', 'model');
  });
});
