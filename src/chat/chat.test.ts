import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { stream, words } from '../../test/scripted-engine.ts';
import { AWKWARD_TEXTS } from '../../test/support/awkward.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { ChatCompletion, ChatCompletionChunk } from './schema.ts';

const hello = { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] };

describe('POST /v1/chat/completions', () => {
  const api = useApi();
  const chat = (body: object) => api.send('POST', '/v1/chat/completions', { body: { ...hello, ...body } });

  it('200 with the answer in the form of the schema and no other field', async () => {
    const answer = await chat({});
    assert.equal(answer.status, 200);
    assertSchema(ChatCompletion, answer.json);
    assert.equal(answer.json.choices[0].message.content, 'Hello there.');
    assert.deepEqual(answer.json.usage, {
      prompt_tokens: 7,
      completion_tokens: 2,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    assert.equal(answer.headers.get('x-cache-status'), 'MISS');
  });

  it('streams chunks and ends with an empty delta, the finish reason and [DONE]', async () => {
    const answer = await chat({ stream: true });
    const all = chunks(answer.text);
    for (const chunk of all) assertSchema(ChatCompletionChunk, chunk);
    assert.deepEqual(all[0].choices[0].delta, { role: 'assistant', content: '' });
    assert.deepEqual(all.at(-1).choices, [{ index: 0, delta: {}, finish_reason: 'stop' }]);
    assert.equal(all.map((chunk) => chunk.choices[0].delta.content ?? '').join(''), 'Hello there.');
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    assert.equal(answer.headers.get('x-cache-status'), 'MISS');
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
  });

  it('passes texts of any characters to the model and back unchanged, in every role, whole and streamed', async (t) => {
    t.after(() => api.engine.play(() => stream(words('Hello there.'))));
    for (const text of AWKWARD_TEXTS) {
      const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: text.length };
      const deltas = [...text].map(
        (part): GenerationEvent => ({ type: 'text-delta', choice: 0, text: part, tokens: 1 }),
      );
      const end: GenerationEvent = { type: 'choice-end', choice: 0, reason: 'stop' };
      const begin: GenerationEvent = { type: 'prompt-end', promptTokens: 1, cachedTokens: 0 };
      api.engine.play(() => stream([begin, ...deltas, end, { type: 'usage', usage }]));
      const messages = ['system', 'user', 'assistant', 'user'].map((role) => ({ role, content: text }));
      assert.equal((await chat({ messages })).json.choices[0].message.content, text);
      const { prompt } = api.engine.calls.at(-1)!.request;
      assert.deepEqual(prompt.kind === 'chat' && prompt.messages, messages);
      const streamed = chunks((await chat({ messages, stream: true })).text);
      assert.equal(streamed.map((chunk) => chunk.choices[0].delta.content ?? '').join(''), text);
    }
  });

  it('reads refusals of answers that are sent back as their text', async () => {
    const part = (refusal: string) => ({ type: 'refusal', refusal });
    for (const text of AWKWARD_TEXTS) {
      const answers = [
        { content: null, refusal: text },
        { content: [part(text)] },
        { content: [{ type: 'text', text }, part('!')] },
        { content: text, refusal: 'not read' },
        { content: text, refusal: null },
      ];
      const question = { role: 'user', content: 'Hi' };
      const messages = [...answers.map((answer) => ({ role: 'assistant', ...answer })), question];
      assert.equal((await chat({ messages })).status, 200);
      const { prompt } = api.engine.calls.at(-1)!.request;
      const contents = prompt.kind === 'chat' ? prompt.messages.map(({ content }) => content) : [];
      assert.deepEqual(contents, [text, text, `${text}!`, text, text, 'Hi']);
    }
    for (const [message, code, param] of [
      [{ role: 'user', content: [part('a')] }, 'invalid_value', 'messages.0.content.0'],
      [{ role: 'user', content: null, refusal: 'a' }, 'invalid_value', 'messages.0.content'],
      [{ role: 'assistant', content: [{ type: 'refusal' }] }, 'missing_required_field', 'messages.0.content.0.refusal'],
      [{ role: 'assistant', content: null, refusal: null }, 'invalid_value', 'messages.0.content'],
    ] as const)
      assertError(await chat({ messages: [message] }), 400, code, param);
  });

  it('ends a stream with usage and no choices only when stream_options.include_usage is true', async () => {
    const asked = chunks((await chat({ stream: true, stream_options: { include_usage: true } })).text);
    assert.deepEqual(asked.at(-1).choices, []);
    assert.equal(asked.at(-1).usage.total_tokens, 9);
    for (const chunk of asked) assertSchema(ChatCompletionChunk, chunk);
    assert.deepEqual(new Set(asked.slice(0, -1).map(({ usage }) => usage)), new Set([null]));
    for (const stream_options of [{}, { include_usage: false }, null]) {
      const unasked = chunks((await chat({ stream: true, stream_options })).text);
      assert.ok(unasked.every((chunk) => chunk.choices.length === 1 && !('usage' in chunk)));
    }
  });

  it('streams parallel tool calls, the first delta of each with id, type and name', async () => {
    const deltas: GenerationEvent[] = [0, 1, 2].flatMap((index): GenerationEvent[] => [
      {
        type: 'tool-call-delta',
        choice: 0,
        index,
        id: `call_${index}`,
        name: `tool_${index}`,
        arguments: '',
        tokens: 1,
      },
      { type: 'tool-call-delta', choice: 0, index, arguments: '{"a":', tokens: 2 },
      { type: 'tool-call-delta', choice: 0, index, arguments: `${index}}`, tokens: 1 },
    ]);
    api.engine.play(() =>
      stream<GenerationEvent>([
        { type: 'prompt-end', promptTokens: 3, cachedTokens: 2 },
        ...deltas,
        { type: 'choice-end', choice: 0, reason: 'tool_calls' },
        { type: 'usage', usage: { promptTokens: 3, cachedTokens: 2, completionTokens: 12 } },
      ]),
    );
    const whole = await chat({});
    assertSchema(ChatCompletion, whole.json);
    assert.equal(whole.headers.get('x-cache-status'), 'HIT');
    const { message, finish_reason } = whole.json.choices[0];
    assert.equal(message.content, null);
    assert.equal(finish_reason, 'tool_calls');
    assert.deepEqual(
      message.tool_calls.map((call: { function: object }) => call.function),
      [0, 1, 2].map((index) => ({ name: `tool_${index}`, arguments: `{"a":${index}}` })),
    );
    const all = chunks((await chat({ stream: true })).text);
    for (const chunk of all) assertSchema(ChatCompletionChunk, chunk);
    const calls = all.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
    assert.deepEqual(calls[0], {
      index: 0,
      id: 'call_0',
      type: 'function',
      function: { name: 'tool_0', arguments: '' },
    });
    assert.deepEqual(calls[1], { index: 0, function: { arguments: '{"a":' } });
    api.engine.play(() => stream(words('Hello there.')));
  });

  it('streams several choices by index', async () => {
    api.engine.play(() =>
      stream<GenerationEvent>([
        { type: 'prompt-end', promptTokens: 3, cachedTokens: 0 },
        { type: 'text-delta', choice: 1, text: 'b', tokens: 1 },
        { type: 'text-delta', choice: 0, text: 'a', tokens: 1 },
        { type: 'choice-end', choice: 0, reason: 'stop' },
        { type: 'text-delta', choice: 1, text: 'B', tokens: 1 },
        { type: 'choice-end', choice: 1, reason: 'length' },
        { type: 'usage', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 3 } },
      ]),
    );
    const { choices } = (await chat({ n: 2 })).json;
    assert.deepEqual(
      choices.map((choice: { index: number; message: { content: string }; finish_reason: string }) => [
        choice.index,
        choice.message.content,
        choice.finish_reason,
      ]),
      [
        [0, 'a', 'stop'],
        [1, 'bB', 'length'],
      ],
    );
    api.engine.play(() => stream(words('Hello there.')));
  });

  it('passes every parameter to the engine, with the documented defaults', async () => {
    await chat({});
    const plain = api.engine.calls.at(-1)?.request;
    assert.deepEqual(plain?.sampling, {
      temperature: null,
      topP: 1,
      presencePenalty: 0,
      frequencyPenalty: 0,
      seed: null,
      logitBias: {},
    });
    assert.equal(plain?.maxTokens, null);
    await chat({
      max_tokens: 5,
      max_completion_tokens: 6,
      stop: ['x', 'y', 'x'],
      logprobs: true,
      top_logprobs: 3,
      seed: 9,
    });
    const full = api.engine.calls.at(-1)?.request;
    assert.deepEqual([full?.maxTokens, full?.stop, full?.logprobs, full?.sampling.seed], [6, ['x', 'y'], 3, 9]);
  });

  it('takes text parts, null content beside tool calls, and developer as system', async () => {
    const messages = [
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'Be ' },
          { type: 'text', text: 'brief.' },
        ],
      },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'w', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ];
    assert.equal((await chat({ messages })).status, 200);
    const prompt = api.engine.calls.at(-1)?.request.prompt;
    assert.ok(prompt?.kind === 'chat');
    assert.deepEqual(prompt.messages[0], { role: 'system', content: 'Be brief.' });
    assert.equal(prompt.messages[2]?.content, null);
  });

  it('404 model_not_found for an unknown model', async () => {
    assertError(await chat({ model: 'nothing' }), 404, 'model_not_found', 'model');
  });

  it('404 model_not_found for a model of another kind, with the models that can be used', async () => {
    const answer = await chat({ model: 'embed-large-en-v1.5' });
    assertError(answer, 404, 'model_not_found', 'model');
    assert.match(answer.json.error.message, /does not do chat completions; these do: .*general-8b/);
  });

  it('top_p of 0 is greedy', async () => {
    assert.equal((await chat({ top_p: 0, temperature: 1.5 })).status, 200);
    const { temperature, topP } = api.engine.calls.at(-1)!.request.sampling;
    assert.deepEqual([temperature, topP], [0, 1]);
  });

  it('allowed_tools leaves only the named tools to the model', async () => {
    const tools = ['add', 'remove', 'list'].map((name) => ({ type: 'function', function: { name } }));
    const allow = (mode: string, names: string[]) =>
      chat({
        tools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
        },
      });
    assert.equal((await allow('required', ['list', 'add'])).status, 200);
    const { prompt } = api.engine.calls.at(-1)!.request;
    assert.ok(prompt.kind === 'chat');
    assert.deepEqual(
      [prompt.tools.map((tool) => tool.function.name), prompt.toolChoice],
      [['add', 'list'], 'required'],
    );
    const param = 'tool_choice.allowed_tools.tools.1.function.name';
    assertError(await allow('auto', ['add', 'sing']), 400, 'invalid_value', param);
    assertError(await allow('maybe', ['add']), 400, 'invalid_value', 'tool_choice.allowed_tools.mode');
  });

  it('modalities other than text are rejected', async () => {
    assert.equal((await chat({ modalities: ['text'] })).status, 200);
    assertError(await chat({ modalities: ['text', 'audio'] }), 400, 'invalid_value', 'modalities.1');
  });

  it('404 knowledge_base_not_found for an id in knowledge_bases, before anything is generated', async () => {
    const before = api.engine.calls.length;
    assertError(await chat({ knowledge_bases: ['kb_x'] }), 404, 'knowledge_base_not_found', 'knowledge_bases.0');
    assert.equal(api.engine.calls.length, before);
  });

  it('401 without a key', async () => {
    assertError(await api.send('POST', '/v1/chat/completions', { body: hello, key: null }), 401, 'invalid_api_key');
  });

  it('403 insufficient_scope for a key without inference, or limited to other models', async () => {
    const files = await api.makeKey({ scopes: ['files'] });
    assertError(
      await api.send('POST', '/v1/chat/completions', { body: hello, key: files.key }),
      403,
      'insufficient_scope',
    );
    const other = await api.makeKey({ models: ['general-70b'] });
    const limited = await api.send('POST', '/v1/chat/completions', { body: hello, key: other.key });
    assertError(limited, 403, 'insufficient_scope', 'model');
  });
});
