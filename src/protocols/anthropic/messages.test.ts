import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertSchema, useApi } from '../../../test/harness.ts';
import { servedModel, stream, words } from '../../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import type { GenerationEvent } from '../../engines/engine.ts';
import { AnthropicMessage } from './schema.ts';

const hello = { model: 'general-8b', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] };
const tools = [
  { name: 'read "file"', description: 'Reads.', input_schema: { type: 'object', properties: { path: {} } } },
  { name: 'list', input_schema: { type: 'object' } },
];

/** The `event:` name and the data of each frame. */
const frames = (text: string) =>
  text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(frame) ?? [];
      return { name, data: JSON.parse(data ?? 'null') };
    });

/** What the model does with two parallel calls after reasoning and a text. */
const THINKS_AND_CALLS: GenerationEvent[] = [
  { type: 'prompt-end', promptTokens: null, cachedTokens: null },
  { type: 'reasoning-delta', choice: 0, text: 'Let me ', tokens: 2 },
  { type: 'reasoning-delta', choice: 0, text: 'see.', tokens: 1 },
  { type: 'text-delta', choice: 0, text: 'I read "it".', tokens: 3 },
  { type: 'tool-call-delta', choice: 0, index: 0, id: 'call_1', name: 'read "file"', arguments: '', tokens: 1 },
  { type: 'tool-call-delta', choice: 0, index: 0, arguments: '{"path":', tokens: 1 },
  { type: 'tool-call-delta', choice: 0, index: 0, arguments: '"a\\"b"}', tokens: 1 },
  { type: 'tool-call-delta', choice: 0, index: 1, id: 'call_2', name: 'list', arguments: '{}', tokens: 1 },
  { type: 'choice-end', choice: 0, reason: 'tool_calls' },
  { type: 'usage', usage: { promptTokens: 30, cachedTokens: 20, completionTokens: 10 } },
];
const TEXT = { type: 'text', text: 'I read "it".', citations: null };
const THINKING = { type: 'thinking', thinking: 'Let me see.', signature: '' };
const CALLS = [
  { type: 'tool_use', id: 'call_1', name: 'read "file"', input: { path: 'a"b' } },
  { type: 'tool_use', id: 'call_2', name: 'list', input: {} },
];

describe('POST /v1/messages', () => {
  const api = useApi();
  const create = (body: object, path = '') =>
    api.send('POST', `/v1/messages${path}`, { body: { ...hello, ...body }, headers: { 'anthropic-version': 'x' } });
  const prompt = () => {
    const { request } = api.engine.calls.at(-1)!;
    assert.ok(request.prompt.kind === 'chat');
    return { ...request, prompt: request.prompt };
  };
  const assertFails = async (
    body: object,
    [status, type, param]: readonly [number, string, string | null],
    path = '',
  ) => {
    const { json, headers, ...answer } = await create(body, path);
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual([json.type, json.error.type, json.error.param], ['error', type, param], answer.text);
    assert.equal(json.request_id, headers.get('request-id'));
    assert.equal(json.request_id, headers.get('x-request-id'));
  };

  it('200 with the message in the form of the schema', async () => {
    api.engine.play(() => stream(words('Hello there.')));
    const { status, json, headers } = await create({});
    assert.equal(status, 200);
    assertSchema(AnthropicMessage, json);
    assert.deepEqual(json.content, [{ type: 'text', text: 'Hello there.', citations: null }]);
    assert.deepEqual([json.stop_reason, json.stop_sequence, json.model], ['end_turn', null, 'general-8b']);
    assert.match(json.id, /^msg_/);
    assert.equal(headers.get('x-cache-status'), 'MISS');
  });

  it('has the reasoning, the text and the calls as blocks, and the tokens of the prefix cache apart', async () => {
    api.engine.play(() => stream(THINKS_AND_CALLS));
    const { json, headers } = await create({ tools, thinking: { type: 'enabled', budget_tokens: 2048 } });
    assert.deepEqual(json.content, [THINKING, TEXT, ...CALLS]);
    assert.equal(json.stop_reason, 'tool_use');
    const cached = { cache_creation_input_tokens: 0, cache_read_input_tokens: 20 };
    assert.deepEqual(json.usage, { input_tokens: 10, ...cached, output_tokens: 10 });
    assert.equal(headers.get('x-cache-status'), 'HIT');
    assert.deepEqual(prompt().upstreamParameters, { reasoning_effort: 'low' });
  });

  it('streams the same message block by block, and leaves reasoning out unless it is requested', async () => {
    for (const thinking of [{ type: 'adaptive' }, { type: 'disabled' }, undefined]) {
      api.engine.play(() => stream(THINKS_AND_CALLS));
      const { text, headers } = await create({ tools, stream: true, ...(thinking && { thinking }) });
      const events = frames(text);
      assert.ok(events.every(({ name, data }) => name === data.type));
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      const blocks: Record<string, unknown>[] = [];
      for (const { data } of events) {
        if (data.type === 'content_block_start') {
          assert.equal(data.index, blocks.length);
          blocks.push({ ...data.content_block, json: '' });
        }
        if (data.type !== 'content_block_delta') continue;
        const block = blocks[data.index] as Record<string, string>;
        const { type, text: piece, thinking: thought, partial_json: json } = data.delta;
        if (type === 'text_delta') block['text'] += piece;
        if (type === 'thinking_delta') block['thinking'] += thought;
        if (type === 'input_json_delta') block['json'] += json;
      }
      const merged = blocks.map(({ json, ...block }) =>
        block['type'] === 'tool_use' ? { ...block, input: JSON.parse(json as string) } : block,
      );
      assert.deepEqual(merged, [...(thinking?.type === 'adaptive' ? [THINKING] : []), TEXT, ...CALLS]);
      assert.equal(events.filter(({ name }) => name === 'content_block_stop').length, blocks.length);
      assert.deepEqual(events.at(-2)?.data, {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 20, output_tokens: 10 },
      });
      assert.equal(events.at(-1)?.name, 'message_stop');
    }
  });

  it('names the stop sequence, the token limit and a refusal as the reason of the end', async () => {
    const end = (event: object): GenerationEvent[] =>
      words('a').map((each) => (each.type === 'choice-end' ? ({ ...each, ...event } as GenerationEvent) : each));
    for (const [event, stop_reason, stop_sequence] of [
      [{ reason: 'stop', stopSequence: '\n"' }, 'stop_sequence', '\n"'],
      [{ reason: 'length' }, 'max_tokens', null],
      [{ reason: 'content_filter' }, 'refusal', null],
    ] as const) {
      api.engine.play(() => stream(end(event)));
      const { json } = await create({ stop_sequences: ['\n"', '\n"'] });
      assert.deepEqual([json.stop_reason, json.stop_sequence], [stop_reason, stop_sequence]);
      assert.deepEqual(prompt().stop, ['\n"']);
      api.engine.play(() => stream(end(event)));
      const { delta } = frames((await create({ stream: true })).text).at(-2)?.data ?? {};
      assert.deepEqual(delta, { stop_reason, stop_sequence });
    }
  });

  it('passes texts of any characters to the model, as system, user, answer and tool result', async () => {
    for (const text of AWKWARD_TEXTS) {
      api.engine.play(() => stream(words('a')));
      await create({
        system: [
          { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=abc;' },
          { type: 'text', text, cache_control: { type: 'ephemeral' } },
        ],
        tools,
        messages: [
          { role: 'user', content: text },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'not sent', signature: '' },
              { type: 'text', text },
              { type: 'tool_use', id: 'call "1"', name: 'list', input: { text } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'call "1"', content: [{ type: 'text', text }] },
              { type: 'tool_result', tool_use_id: 'call_2', content: text, is_error: true },
              { type: 'text', text },
              { type: 'document', title: 'Notes', source: { type: 'text', media_type: 'text/plain', data: text } },
            ],
          },
        ],
      });
      const call = {
        id: 'call "1"',
        type: 'function',
        function: { name: 'list', arguments: JSON.stringify({ text }) },
      };
      assert.deepEqual(prompt().prompt.messages, [
        { role: 'system', content: text },
        { role: 'user', content: text },
        { role: 'assistant', content: text, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call "1"', content: text },
        { role: 'tool', tool_call_id: 'call_2', content: `Error: ${text}` },
        { role: 'user', content: `${text}\n\nNotes\n\n${text}` },
      ]);
    }
  });

  it('converts tools, the choice among them and the schema of the answer', async () => {
    const schema = { type: 'object', properties: { 'a "b"': { type: 'integer' } } };
    for (const [body, toolChoice, parallel] of [
      [{ tools }, 'auto', true],
      [{ tools, tool_choice: { type: 'none' } }, 'none', true],
      [{ tools, tool_choice: { type: 'any', disable_parallel_tool_use: true } }, 'required', false],
      [{ tools, tool_choice: { type: 'tool', name: 'list' } }, { name: 'list' }, true],
      [{ output_config: { format: { type: 'json_schema', schema }, effort: 'max' } }, 'none', true],
    ] as const) {
      api.engine.play(() => stream(words('a')));
      assert.equal((await create(body)).status, 200);
      const { prompt: sent, format, upstreamParameters } = prompt();
      assert.deepEqual([sent.toolChoice, sent.parallelToolCalls], [toolChoice, parallel]);
      assert.deepEqual(
        sent.tools.map(({ function: tool }) => tool.parameters),
        'tools' in body ? tools.map((tool) => tool.input_schema) : [],
      );
      if (!('output_config' in body)) continue;
      assert.deepEqual(format.type === 'json_schema' && format.schema, schema);
      assert.deepEqual(upstreamParameters, { reasoning_effort: 'max' });
    }
  });

  it('chooses the effort by the thinking budget, at its limits', async () => {
    for (const [budget, effort] of [
      [2048, 'low'],
      [2049, 'medium'],
      [8192, 'medium'],
      [8193, 'high'],
    ] as const) {
      api.engine.play(() => stream(words('a')));
      await create({ thinking: { type: 'enabled', budget_tokens: budget } });
      assert.deepEqual(prompt().upstreamParameters, { reasoning_effort: effort });
    }
  });

  it('400 that names the field', async () => {
    const user = (content: unknown[]) => ({ messages: [{ role: 'user', content }] });
    const invalid: [object, string][] = [
      [{ max_tokens: undefined }, 'max_tokens'],
      [{ max_tokens: 0 }, 'max_tokens'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'system', content: 'x' }] }, 'messages.0.role'],
      [{ messages: [...hello.messages, { role: 'assistant', content: 'I' }] }, 'messages.1.role'],
      [{ temperature: 1.1 }, 'temperature'],
      [{ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
      [user([{ type: 'text' }]), 'messages.0.content.0.text'],
      [
        user([
          { type: 'text', text: 'a' },
          { type: 'image', source: { type: 'url', url: 'x' } },
        ]),
        'messages.0.content.1',
      ],
      [user([{ type: 'tool_result', content: 'x' }]), 'messages.0.content.0.tool_use_id'],
      [
        user([{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'video' }] }]),
        'messages.0.content.0.content.0.type',
      ],
      [user([{ type: 'tool_use', id: 'a', name: 'list' }]), 'messages.0.content.0.type'],
      [user([{ type: 'document', source: { type: 'base64', data: 'eA==' } }]), 'messages.0.content.0.source.type'],
      [
        { messages: [{ role: 'assistant', content: [{ type: 'image' }] }, ...hello.messages] },
        'messages.0.content.0.type',
      ],
      [
        { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] }, ...hello.messages] },
        'messages.0.content.0.name',
      ],
      [{ tools: [{ name: 'a' }] }, 'tools.0.input_schema'],
      [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools.0.type'],
      [{ tools: [tools[1], tools[0], tools[1]] }, 'tools.2.name'],
      [{ tool_choice: { type: 'any' } }, 'tool_choice'],
      [{ tools, tool_choice: { type: 'tool' } }, 'tool_choice.name'],
      [{ tools, tool_choice: { type: 'tool', name: 'none' } }, 'tool_choice.name'],
    ];
    const calls = api.engine.calls.length;
    for (const [body, param] of invalid) await assertFails(body, [400, 'invalid_request_error', param]);
    assert.equal(api.engine.calls.length, calls);
  });

  it('errors of the service in the form of Anthropic, whole and as the last event of a stream', async () => {
    await assertFails({ model: 'nothing "else"' }, [404, 'not_found_error', 'model']);
    await assertFails({ model: 'nothing "else"' }, [404, 'not_found_error', 'model'], '/count_tokens');
    api.engine.play(async function* () {
      yield* words('Hello').slice(0, 2);
      throw new Error('the engine broke');
    });
    const events = frames((await create({ stream: true })).text);
    assert.equal(events.at(-1)?.name, 'error');
    assert.equal(events.at(-1)?.data.error.type, 'api_error');
    assert.ok(!events.some(({ name }) => name === 'message_stop'), 'a stream that fails is not complete');
  });

  it('accepts the key in x-api-key, and prefers Authorization', async () => {
    api.engine.play(() => stream(words('a')));
    const send = (headers: Record<string, string>) =>
      api.send('POST', '/v1/messages', { key: null, body: hello, headers });
    assert.equal((await send({ 'x-api-key': api.key })).status, 200);
    for (const headers of [
      {},
      { 'x-api-key': 'quire-sk-unknown' },
      { 'x-api-key': api.key, authorization: 'Bearer x' },
    ]) {
      const { status, json } = await send(headers);
      assert.deepEqual([status, json.error.type], [401, 'authentication_error']);
    }
  });

  it('counts the tokens of a prompt without a call of the model', async () => {
    const calls = api.engine.calls.length;
    const { status, json } = await create({ max_tokens: undefined }, '/count_tokens');
    assert.equal(status, 200);
    assert.ok(json.input_tokens > 0);
    const longer = await create({ max_tokens: undefined, system: 'Answer in one word. '.repeat(20) }, '/count_tokens');
    assert.ok(longer.json.input_tokens > json.input_tokens + 40);
    assert.equal(api.engine.calls.length, calls);
  });
});

describe('GET /v1/models with anthropic-version', () => {
  const api = useApi({ models: (engine) => ['a', 'b "2"', 'c'].map((id) => ({ ...servedModel(engine), id })) });
  const get = (path: string, headers = { 'anthropic-version': '2023-06-01' }) => api.send('GET', path, { headers });
  const ids = async (query: string) => {
    const { json } = await get(`/v1/models${query}`);
    return [json.data.map(({ id }: { id: string }) => id), json.has_more];
  };

  it('lists pages in both directions, and says whether there are more', async () => {
    const { json } = await get('/v1/models');
    const created_at = new Date(1_700_000_000_000).toISOString();
    assert.deepEqual(json.data[1], { type: 'model', id: 'b "2"', display_name: 'b "2"', created_at });
    assert.deepEqual(await ids(''), [['a', 'b "2"', 'c'], false]);
    assert.deepEqual(await ids('?limit=3'), [['a', 'b "2"', 'c'], false]);
    assert.deepEqual(await ids('?limit=2'), [['a', 'b "2"'], true]);
    assert.deepEqual(await ids('?limit=2&after_id=b%20%222%22'), [['c'], false]);
    assert.deepEqual(await ids('?limit=1&before_id=c'), [['b "2"'], true]);
    assert.deepEqual(await ids('?limit=2&before_id=c'), [['a', 'b "2"'], false]);
    assert.deepEqual(await ids('?after_id=c'), [[], false]);
  });

  it('answers one model, and errors in the same form', async () => {
    assert.equal((await get('/v1/models/c')).json.id, 'c');
    const missing = await get('/v1/models/d');
    assert.deepEqual([missing.status, missing.json.type], [404, 'error']);
    const { status, json } = await get('/v1/models?before_id=d');
    assert.deepEqual([status, json.error.param], [400, 'before_id']);
  });

  it('does not change the list of OpenAI clients', async () => {
    const { json } = await api.send('GET', '/v1/models');
    assert.equal(json.object, 'list');
  });
});
