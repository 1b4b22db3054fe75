/** Requests to `/api` as Open WebUI sends them: headers, bodies with its extra fields, streams. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useApi } from '../../../test/harness.ts';
import { scriptedModels } from '../../../test/model-routes.ts';
import { stream, words } from '../../../test/scripted-engine.ts';
import type { ChatPrompt, GenerationEvent } from '../../engines/engine.ts';

const MODEL = 'general-8b:latest';
const PNG = `iVBORw0KGgo${'A'.repeat(40)}`;

/** Sent with every request when user headers are forwarded; the name is percent-encoded. */
const PERSON = {
  'content-type': 'application/json',
  'x-openwebui-user-name': '%C3%85da "L"',
  'x-openwebui-user-id': '7f0c',
  'x-openwebui-user-email': 'ada@example.com',
  'x-openwebui-user-role': 'admin',
  'x-openwebui-chat-id': 'chat-1',
};

/** Fields beside those of Ollama that its forms let through. */
const EXTRAS = {
  session_id: 's',
  chat_id: 'c',
  id: 'm',
  features: { web_search: false },
  variables: { '{{USER_NAME}}': 'Åda' },
  background_tasks: { title_generation: true },
  params: { target: 'native' },
};

describe('Open WebUI', () => {
  const api = useApi({
    models: (engine) =>
      scriptedModels(engine).map((model) => ({ ...model, capabilities: { ...model.capabilities, vision: true } })),
  });
  const send = (method: string, path: string, body?: object, key: string | null = api.key) =>
    api.send(method, path, { headers: PERSON, key, ...(body !== undefined && { body }) });
  const prompt = () => api.engine.calls.at(-1)?.request.prompt as ChatPrompt;
  const lines = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('lists models by `model`, loaded ones with an ISO time that its date parser reads', async () => {
    const { models } = (await send('GET', '/api/tags')).json;
    assert.ok(models.some(({ model, name }: { model: string; name: string }) => model === MODEL && name === MODEL));
    for (const { expires_at } of (await send('GET', '/api/ps')).json.models)
      assert.match(expires_at, /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/);
    assert.equal((await send('GET', '/api/version', undefined, null)).status, 200);
    assert.equal((await send('POST', '/api/show', { name: MODEL, model: MODEL })).status, 200);
  });

  it('streams a chat with images and with parameters both in `options` and beside it', async () => {
    api.engine.play(() => stream(words('Hello Åda.')));
    const sampling = { temperature: 0.5, seed: 7, stop: ['a"', '\n'], num_predict: 12, repeat_penalty: 1.1 };
    const { status, headers, text } = await send('POST', '/api/chat', {
      ...{ model: MODEL, stream: true, keep_alive: '5m', num_ctx: 2_048, mirostat: 0, think: false, ...EXTRAS },
      options: { ...sampling, num_ctx: 2_048, use_mmap: true, new_topic_penalty: 0.1 },
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'What is "this"?', images: [PNG] },
      ],
    });
    assert.equal(status, 200, text);
    assert.match(headers.get('content-type') ?? '', /^application\/x-ndjson/);
    const parts = lines(text);
    assert.equal(parts.map(({ message }) => message.content).join(''), 'Hello Åda.');
    assert.deepEqual([parts.at(-1).done, parts.at(-1).eval_count], [true, 2]);
    const { request } = api.engine.calls.at(-1) ?? assert.fail();
    assert.deepEqual([request.maxTokens, request.stop, request.sampling.seed], [12, ['a"', '\n'], 7]);
    assert.equal(prompt().messages[1]?.images?.length, 1);
  });

  it('sends results of tools without the id of their call', async () => {
    const calls: GenerationEvent[] = [
      { type: 'prompt-end', promptTokens: 3, cachedTokens: 0 },
      ...['Oslo', 'Rome "2"'].map((city, index): GenerationEvent => {
        const args = JSON.stringify({ city });
        return {
          type: 'tool-call-delta',
          choice: 0,
          index,
          id: `call_${city[0]}`,
          name: 'get',
          arguments: args,
          tokens: 3,
        };
      }),
      { type: 'choice-end', choice: 0, reason: 'tool_calls' },
      { type: 'usage', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 6 } },
    ];
    api.engine.play(() => stream(calls));
    const tools = [{ type: 'function', function: { name: 'get', description: '', parameters: { type: 'object' } } }];
    const asked = { role: 'user', content: 'Weather?' };
    const request = { model: MODEL, stream: true, tools, ...EXTRAS };
    const parts = lines((await send('POST', '/api/chat', { ...request, messages: [asked] })).text);
    const made = parts.flatMap(({ message }) => message.tool_calls ?? []);
    assert.deepEqual(
      made.map(({ function: { arguments: args } }: { function: { arguments: object } }) => args),
      [{ city: 'Oslo' }, { city: 'Rome "2"' }],
    );
    api.engine.play(() => stream(words('Done.')));
    const results = ['snow', 'sun'].map((content) => ({ role: 'tool', content }));
    // Its forms drop empty fields and those that they do not know, such as `tool_call_id`.
    const messages = [asked, { role: 'assistant', tool_calls: made }, ...results];
    const { status, text } = await send('POST', '/api/chat', { ...request, stream: false, messages });
    assert.equal(status, 200, text);
    assert.deepEqual(
      prompt().messages.map(({ role, tool_call_id }) => [role, tool_call_id]),
      [
        ['user', undefined],
        ['assistant', undefined],
        ['tool', 'call_O'],
        ['tool', 'call_R'],
      ],
    );
  });

  it('asks for titles as a whole answer, and embeds with `truncate`', async () => {
    api.engine.play(() => stream(words('{"title": "A"}')));
    const title = { model: MODEL, stream: false, messages: [{ role: 'user', content: 'Title?' }], ...EXTRAS };
    assert.equal(
      (await send('POST', '/api/chat', { ...title, format: 'json' })).json.message.content,
      '{"title": "A"}',
    );
    const embed = { model: 'embed-large-en-v1.5', input: ['a', 'b'], truncate: true, options: {}, keep_alive: 300 };
    assert.equal((await send('POST', '/api/embed', embed)).json.embeddings.length, 2);
    const older = { model: 'embed-large-en-v1.5:latest', prompt: 'a', options: {}, keep_alive: '5m' };
    assert.ok((await send('POST', '/api/embeddings', older)).json.embedding.length > 0);
  });

  it('reads the text `error` of what fails', async () => {
    const chat = { model: 'none', messages: [{ role: 'user', content: 'a' }], ...EXTRAS };
    for (const [method, path, body, status] of [
      ['POST', '/api/chat', chat, 404],
      ['POST', '/api/chat', { ...chat, model: MODEL, messages: [{ role: 'robot', content: 'a' }] }, 400],
      ['DELETE', '/api/delete', { name: MODEL, model: MODEL }, 400],
      ['POST', '/api/copy', { source: MODEL, destination: 'b' }, 400],
      ['POST', '/api/create', { model: 'b', from: MODEL, stream: true }, 400],
    ] as const) {
      const answer = await send(method, path, body);
      assert.equal(answer.status, status, answer.text);
      assert.equal(typeof answer.json.error, 'string');
    }
  });
});
