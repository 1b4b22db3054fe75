/** Images in messages: which models get them, and what they change in limits, credits, documents and policies. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { setBalance } from '../src/billing/credits.ts';
import type { GenerationEngine } from '../src/engines/engine.ts';
import { createUpstreamEngine } from '../src/engines/upstream/upstream-engine.ts';
import { createLogger } from '../src/lib/logger.ts';
import { ResponseInputItemList } from '../src/responses/input-items-schema.ts';
import { RUN_RESPONSE, runBackground } from '../src/responses/run-background.ts';
import { until } from './deadline.ts';
import { type Handler, sendEvents, sendJson, startServer, type TestServer } from './fixtures/upstream-server.ts';
import { type Answer, assertError, assertSchema, bindCatalogue, useApi } from './harness.ts';
import { AWKWARD_TEXTS } from './support/awkward.ts';

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const JPEG = 'data:image/svg+xml;base64,/9j/4AAQ';
const HEAD = { id: 'x', created: 1, model: 'm' };
const USAGE = { prompt_tokens: 300, completion_tokens: 2, total_tokens: 302 };

/** Says what it sees. Streams when it is asked to. */
const see: Handler = ({ body }, response) => {
  const message = { role: 'assistant', content: 'A cat.' };
  if (!body?.['stream'])
    return sendJson(response, 200, { ...HEAD, choices: [{ index: 0, message, finish_reason: 'stop' }], usage: USAGE });
  const choice = (delta: object, finish_reason: string | null) => ({
    ...HEAD,
    choices: [{ index: 0, delta, finish_reason }],
  });
  sendEvents(response, [choice(message, null), choice({}, 'stop'), { ...HEAD, choices: [], usage: USAGE }, '[DONE]']);
  response.end();
};

describe('images in messages', () => {
  let handler: Handler = see;
  const scored: string[] = [];
  let server: TestServer;
  let engine: GenerationEngine;
  before(async () => {
    server = await startServer((...args) => handler(...args));
  });
  after(async () => {
    await engine?.close();
    await server.close();
  });
  const api = useApi({
    jobs: [RUN_RESPONSE],
    rateLimits: 'tokens=20000,requests=1000',
    limitClock: () => 0,
    scoreTexts: async (texts) => {
      scored.push(...texts);
      return texts.map(() => ({ harassment: 0, hate: 0, self_harm: 0, sexual: 0, violence: 0 }));
    },
    config: { allowPrivateHosts: ['pictures', '10.1.0.0/16'] },
    models: () => {
      const options = { model: 'm', apiKey: null, contextLength: 4096, proxy: null };
      engine = createUpstreamEngine({ ...options, baseUrls: [server.baseUrl], logger: createLogger('silent') });
      return bindCatalogue(engine).map((model) =>
        model.id === 'general-8b' ? { ...model, capabilities: { ...model.capabilities, vision: true } } : model,
      );
    },
  });
  const client = () => new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
  const outcome = ({ status, json }: Answer) => [status, json.error?.code];
  /** A key of an organization of its own, with the whole rate limit. */
  const newKey = async (name: string) => (await api.makeKey({ organization: name })).key;
  const sentMessages = () => server.requests.at(-1)?.body?.['messages'] as { role: string; content: unknown }[];
  const image = (url: string, more: object = {}) => ({ type: 'image_url' as const, image_url: { url, ...more } });
  const text = (content: string) => ({ type: 'text' as const, text: content });
  const chat = (content: unknown, body: object = {}, key = api.key) =>
    api.send('POST', '/v1/chat/completions', {
      key,
      body: { model: 'general-8b', messages: [{ role: 'user', content }], ...body },
    });
  const respond = (content: unknown, body: object = {}, key = api.key) =>
    api.send('POST', '/v1/responses', {
      key,
      body: { model: 'general-8b', input: [{ role: 'user', content }], ...body },
    });

  it('reach the server between the texts around them, streamed or not', async () => {
    const create = client().chat.completions;
    const content = [
      text('What '),
      text('is this: '),
      image(PNG, { detail: 'high' }),
      image('https://example.com/a.png?b="c"'),
      text(' and this?'),
      image(JPEG),
    ];
    const parts = [text('What is this: '), ...content.slice(2)];
    const messages = [
      { role: 'system' as const, content: 'Be short.' },
      { role: 'user' as const, content },
      { role: 'user' as const, content: [image(PNG, { detail: 'low' })] },
    ];
    const expected = [messages[0], { role: 'user', content: parts }, messages[2]];
    const answer = await create.create({ model: 'general-8b', messages });
    assert.equal(answer.choices[0]?.message.content, 'A cat.');
    assert.equal(answer.usage?.prompt_tokens, 300);
    assert.deepEqual(sentMessages(), expected);
    for await (const _ of await create.create({ model: 'general-8b', messages, stream: true }));
    assert.deepEqual(sentMessages(), expected);
    for (const awkward of AWKWARD_TEXTS) {
      await chat([text(awkward), image(PNG), text(awkward)], {}, await newKey(`awkward ${awkward.length}`));
      assert.deepEqual(sentMessages()[0]?.content, [text(awkward), image(PNG), text(awkward)]);
    }
    await chat([text('No '), text('image')]);
    assert.deepEqual(sentMessages()[0]?.content, 'No image');
  });

  it('of responses reach it too, again when the response is continued, and are its input items', async () => {
    const input = [
      { type: 'input_text' as const, text: 'What is this: ' },
      { type: 'input_image' as const, image_url: PNG, detail: 'high' as const },
    ];
    const first = await client().responses.create({ model: 'general-8b', input: [{ role: 'user', content: input }] });
    assert.equal(first.output_text, 'A cat.');
    const parts = [text('What is this: '), image(PNG, { detail: 'high' })];
    assert.deepEqual(sentMessages(), [{ role: 'user', content: parts }]);
    const next = { model: 'general-8b', previous_response_id: first.id, input: 'And its colour?' };
    const second = await client().responses.create(next);
    assert.deepEqual(
      sentMessages().map(({ content }) => content),
      [parts, 'A cat.', 'And its colour?'],
    );
    const { json } = await api.send('GET', `/v1/responses/${second.id}/input_items?order=asc`);
    assertSchema(ResponseInputItemList, json);
    const kept = input.map((part) => (part.type === 'input_image' ? { ...part, file_id: null } : part));
    assert.deepEqual(json.data[0].content, kept);
    const [item] = json.data;
    await client().responses.create({ model: 'general-8b', input: [item] });
    assert.deepEqual(sentMessages(), [{ role: 'user', content: parts }], 'input items can be sent again');
    const compacted = await client().responses.compact({ model: 'general-8b', input: [item] });
    assert.deepEqual(JSON.parse(JSON.stringify(compacted.output[0])).content, kept);
    const counted = await client().responses.inputTokens.count({ model: 'general-8b', input: [item] });
    assert.ok(counted.input_tokens > 2048 && counted.input_tokens < 3000, `${counted.input_tokens}`);

    const other = { ...next, model: 'general-70b' };
    const answer = await api.send('POST', '/v1/responses', { body: other });
    assertError(answer, 400, 'invalid_value', 'previous_response_id');
    assert.match(answer.json.error.message, /the model 'general-70b' reads text only/);
  });

  it('of a response in the background reach it', async () => {
    await api.deps.jobs.work(RUN_RESPONSE, ({ responseId }, signal) => runBackground(api.deps, responseId, signal));
    const content = [{ type: 'input_image' as const, image_url: PNG, detail: 'high' as const }];
    const input = [{ role: 'user' as const, content }];
    const { id } = await client().responses.create({ model: 'general-8b', input, background: true });
    await until(async () => (await client().responses.retrieve(id)).status === 'completed');
    assert.deepEqual(sentMessages(), [{ role: 'user', content: [image(PNG, { detail: 'high' })] }]);
  });

  it('400 that names the part for models without vision, and where no user sends it', async () => {
    const seen = server.requests.length;
    const model = 'general-70b';
    assertError(await chat([text('a'), image(PNG)], { model }), 400, 'invalid_value', 'messages.0.content.1');
    const part = { type: 'input_image', image_url: PNG };
    assertError(await respond([part], { model }), 400, 'invalid_value', 'input.0.content.0');
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
    for (const message of [
      { role: 'system', content: [image(PNG)] },
      { role: 'developer', content: [image(PNG)] },
      { role: 'assistant', content: [image(PNG)] },
      { role: 'tool', tool_call_id: 'c', content: [image(PNG)] },
    ]) {
      const messages = [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: null, tool_calls: calls },
        message,
      ];
      assertError(await chat('', { messages }), 400, 'invalid_value', 'messages.2.content.0');
    }
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const output = { type: 'function_call_output', call_id: 'c', output: [part] };
    assertError(await respond('', { input: [call, output] }), 400, 'invalid_value', 'input.1.output.0');
    for (const type of ['input_audio', 'file', 'image', 'input_image'])
      assertError(await chat([{ type, image_url: { url: PNG } }]), 400, 'invalid_value', 'messages.0.content.0');
    for (const type of ['image_url', 'input_audio'])
      assertError(await respond([{ type, image_url: PNG }]), 400, 'invalid_value', 'input.0.content.0');
    assert.equal(server.requests.length, seen);
  });

  it('400 for an image that is neither a data URL nor at a public host', async () => {
    const seen = server.requests.length;
    for (const url of [
      '',
      'cat.png',
      'data:image/png;base64,',
      'data:image/png,abc',
      'data:text/html;base64,AAAA',
      'data:application/pdf;base64,AAAA',
      'file:///etc/passwd',
      'ftp://example.com/a.png',
      'javascript:alert(1)',
      'http://127.0.0.1:8080/metrics',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://[::1]/',
      'http://[::ffff:10.0.0.1]/',
      'http://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/a.png',
      'https://localhost/a.png',
      'https://a.localhost/a.png',
      'https://vault.internal/a.png',
      'https://vault.internal./a.png',
      'https://printer/a.png',
      'https://user@example.com/a.png',
      'https://:secret@example.com/a.png',
    ]) {
      assertError(await chat([image(url)]), 400, 'invalid_value', 'messages.0.content.0.image_url.url');
      const part = { type: 'input_image', image_url: url };
      assertError(await respond([part]), 400, 'invalid_value', 'input.0.content.0.image_url');
    }
    assertError(
      await chat([{ type: 'image_url' }]),
      400,
      'missing_required_field',
      'messages.0.content.0.image_url.url',
    );
    const file = { type: 'input_image', file_id: 'file-1' };
    assertError(await respond([file]), 400, 'missing_required_field', 'input.0.content.0.image_url');
    assert.equal(server.requests.length, seen);
    const key = await newKey('hosts');
    for (const url of [
      'http://pictures/a.png',
      'https://10.1.2.3/a.png',
      'http://93.184.216.34/',
      'HTTPS://EXAMPLE.com/a',
    ])
      assert.equal((await chat([image(url)], {}, key)).status, 200, url);
  });

  it('count as images and not as texts: in the context, the rate limit and the credits', async () => {
    const large = `data:image/png;base64,${'A'.repeat(3_000_000)}`;
    for (const send of [
      (key: string) => chat([text('Hi'), image(large)], { max_tokens: 5 }, key),
      (key: string) => respond([{ type: 'input_image', image_url: large }], { max_output_tokens: 5 }, key),
    ]) {
      const key = await newKey(`large ${send}`.slice(0, 60));
      const answer = await send(key);
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
      assert.equal(Number(answer.headers.get('x-ratelimit-remaining-tokens')), 20_000 - 302);
    }
    // Prices: 0.0001 and 0.0002 credits per 1,000 tokens; the context bounds the prompt.
    const poor = await api.makeKey({ organization: 'poor' });
    await setBalance(api.db.sql, poor.organizationId, 410, { actor: 'test', note: null });
    assert.equal((await chat([image(PNG)], { max_tokens: 1 }, poor.key)).status, 200);
    await setBalance(api.db.sql, poor.organizationId, 300, { actor: 'test', note: null });
    assertError(await chat([image(PNG)], { max_tokens: 1 }, poor.key), 402, 'insufficient_credits');
    assert.equal((await chat('Hi', { max_tokens: 1 }, poor.key)).status, 200);
  });

  it('are estimated where the server reports no usage', async () => {
    handler = (_request, response) => {
      const message = { role: 'assistant', content: 'A cat.' };
      sendJson(response, 200, { ...HEAD, choices: [{ index: 0, message, finish_reason: 'stop' }] });
    };
    try {
      const { json } = await chat([text('Hi'), image(PNG)], {}, await newKey('no usage'));
      assert.ok(json.usage.prompt_tokens > 2048 && json.usage.prompt_tokens < 2100, `${json.usage.prompt_tokens}`);
    } finally {
      handler = see;
    }
  });

  it('are not in the errors that quote them', async () => {
    const secret = 'iVBORsecretsecret';
    handler = (_request, response) => {
      const message = `cannot read 'data:image/png;base64,${secret}' of data:image/png;base64,${secret}${'A'.repeat(9000)}`;
      sendJson(response, 400, { error: { message } });
    };
    try {
      const answer = await chat([image(`data:image/png;base64,${secret}`)], {}, await newKey('quoted'));
      assertError(answer, 400, 'invalid_value');
      assert.match(answer.text, /cannot read '\[data URL\]'/);
      assert.ok(!answer.text.includes(secret));
    } finally {
      handler = see;
    }
  });

  it('leave the texts beside them to policies', async () => {
    const { key, organizationId } = await api.makeKey({ organization: 'guarded' });
    const policy = { name: 'p', apply_to: ['input'], topic_deny_list: [{ topic: 'falcon', action: 'block' }] };
    assert.equal((await api.send('POST', '/v1/guardrail-policies', { body: policy, key })).status, 200, organizationId);
    assert.equal((await chat([text('A her'), image(PNG), text('on')], {}, key)).status, 200);
    assert.deepEqual(scored.splice(0), ['A heron']);
    for (const content of [
      [text('A fal'), text('con'), image(PNG)],
      [image(PNG), text('the falcon')],
    ]) {
      assert.deepEqual(outcome(await chat(content, {}, key)), [400, 'content_filtered']);
      const input = content.map((part) =>
        part.type === 'text' ? { ...part, type: 'input_text' } : { type: 'input_image', image_url: PNG },
      );
      assert.deepEqual(outcome(await respond(input, {}, key)), [400, 'content_filtered']);
    }
  });

  it('are a capability of the model object', async () => {
    const models = (await api.send('GET', '/v1/models')).json.data as {
      id: string;
      capabilities: { vision: boolean };
    }[];
    assert.deepEqual(
      models.filter(({ capabilities }) => capabilities.vision).map(({ id }) => id),
      ['general-8b'],
    );
    assert.ok(models.every(({ capabilities }) => typeof capabilities.vision === 'boolean'));
  });
});
