import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { stream, withUsage, words } from '../../test/scripted-engine.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { ChatCompletion, ChatCompletionChunk } from './schema.ts';

const FUNCTIONS = [{ name: 'stock', description: 'Stock of an "item"', parameters: { type: 'object' } }];
const MESSAGES = [{ role: 'user', content: 'How many?' }];

describe('fields that chat completions had before tools, and fields that repeat the request', () => {
  const api = useApi();
  const chat = (body: object) =>
    api.send('POST', '/v1/chat/completions', { body: { model: 'general-8b', messages: MESSAGES, ...body } });
  const calls: GenerationEvent[] = [0, 1].flatMap((index): GenerationEvent[] => [
    { type: 'tool-call-delta', choice: 0, index, id: `call_${index}`, name: `f${index}`, arguments: '', tokens: 1 },
    { type: 'tool-call-delta', choice: 0, index, arguments: '{"a":', tokens: 1 },
    { type: 'tool-call-delta', choice: 0, index, arguments: `"${index}"}`, tokens: 1 },
  ]);
  beforeEach(() => {
    api.engine.calls.length = 0;
    api.engine.play(() =>
      stream<GenerationEvent>([
        { type: 'prompt-end', promptTokens: 3, cachedTokens: 0 },
        ...calls,
        { type: 'choice-end', choice: 0, reason: 'tool_calls' },
        { type: 'usage', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 6 } },
      ]),
    );
  });
  const prompt = () => api.engine.calls.at(-1)?.request.prompt as unknown as Record<string, unknown>;

  it('functions are tools of which one is called, whole and streamed', async () => {
    const { json } = await chat({ functions: FUNCTIONS, function_call: 'auto' });
    assertSchema(ChatCompletion, json);
    const [{ message, finish_reason }] = json.choices;
    assert.deepEqual(message, {
      role: 'assistant',
      content: null,
      refusal: null,
      function_call: { name: 'f0', arguments: '{"a":"0"}' },
    });
    assert.equal(finish_reason, 'function_call');
    const { tools, toolChoice, parallelToolCalls } = prompt();
    assert.deepEqual(tools, [{ type: 'function', function: FUNCTIONS[0] }]);
    assert.deepEqual([toolChoice, parallelToolCalls], ['auto', false]);
    const all = chunks((await chat({ functions: FUNCTIONS, stream: true })).text);
    for (const chunk of all) assertSchema(ChatCompletionChunk, chunk);
    const deltas = all.map((chunk) => chunk.choices[0].delta);
    assert.ok(deltas.every((delta) => delta.tool_calls === undefined));
    assert.deepEqual(
      deltas.flatMap((delta) => delta.function_call ?? []),
      [{ name: 'f0', arguments: '' }, { arguments: '{"a":' }, { arguments: '"0"}' }],
    );
    assert.equal(all.at(-1).choices[0].finish_reason, 'function_call');
  });

  it('calls and results of functions are sent back as those of tools', async () => {
    const call = (name: string, text: string) => ({ role: 'assistant', function_call: { name, arguments: text } });
    await chat({
      messages: [
        ...MESSAGES,
        { ...call('stock', '{"item":1}'), content: null },
        { role: 'function', name: 'stock', content: '7' },
        call('stock', '{"item":2}'),
        { role: 'function', name: 'stock', content: '8' },
        { role: 'function', name: 'other', content: '9' },
      ],
      functions: FUNCTIONS,
      function_call: { name: 'stock' },
    });
    const { messages, toolChoice } = prompt() as { messages: Record<string, unknown>[]; toolChoice: unknown };
    assert.deepEqual(toolChoice, { name: 'stock' });
    const toolCall = (id: string, text: string) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'stock', arguments: text } }],
    });
    assert.deepEqual(messages.slice(1), [
      toolCall('call_1', '{"item":1}'),
      { role: 'tool', content: '7', name: 'stock', tool_call_id: 'call_1' },
      toolCall('call_3', '{"item":2}'),
      { role: 'tool', content: '8', name: 'stock', tool_call_id: 'call_3' },
      { role: 'tool', content: '9', name: 'other', tool_call_id: 'call_5' },
    ]);
  });

  it('400 beside their successors, and for a result without a name', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    assertError(await chat({ functions: FUNCTIONS, tools }), 400, 'invalid_value', 'functions');
    const both = { functions: FUNCTIONS, function_call: 'none', tool_choice: 'none' };
    assertError(await chat(both), 400, 'invalid_value', 'function_call');
    const function_call = { name: 'stock', arguments: '' };
    const tool_calls = [{ id: 'a', function: function_call }];
    const twice = [...MESSAGES, { role: 'assistant', function_call, tool_calls }];
    assertError(await chat({ messages: twice }), 400, 'invalid_value', 'messages.1.function_call');
    const nameless = [...MESSAGES, { role: 'function', content: '7' }];
    assertError(await chat({ messages: nameless }), 400, 'missing_required_field', 'messages.1.name');
    const ofUser = [{ role: 'user', content: 'Hi', function_call }];
    assertError(await chat({ messages: ofUser }), 400, 'invalid_value', 'messages.0.tool_calls');
  });

  it('metadata and the tier are repeated only if the request has them', async () => {
    api.engine.play(() => stream(words('Hello there.')));
    const metadata = { run: 'nightly "1"' };
    const { json } = await chat({ metadata, service_tier: 'auto' });
    assertSchema(ChatCompletion, json);
    assert.deepEqual([json.metadata, json.service_tier], [metadata, 'default']);
    const plain = (await chat({ metadata: null, service_tier: null })).json;
    assert.ok(!('metadata' in plain) && !('service_tier' in plain));
    const all = chunks((await chat({ stream: true, metadata, service_tier: 'flex' })).text);
    assert.ok(all.every((chunk) => chunk.service_tier === 'default' && !('metadata' in chunk)));
  });

  it('audio of requests is ignored, unless an answer in audio is requested', async () => {
    api.engine.play(() => stream(words('Hello there.')));
    const audio = { voice: 'alloy', format: 'mp3' };
    const messages = [...MESSAGES, { role: 'assistant', content: 'Ten.', audio: { id: 'audio_1' } }, ...MESSAGES];
    assert.equal((await chat({ messages, audio, moderation: { model: 'omni-moderation-latest' } })).status, 200);
    assertError(await chat({ audio, modalities: ['text', 'audio'] }), 400, 'invalid_value', 'modalities.1');
  });

  it('chunks are padded to equal sizes on request', async () => {
    api.engine.play(() => stream(words('A much longer word than "ä": Donaudampfschifffahrt.')));
    const padded = chunks((await chat({ stream: true, stream_options: { include_obfuscation: true } })).text);
    for (const chunk of padded) assertSchema(ChatCompletionChunk, chunk);
    const bytes = padded.map(
      ({ choices, obfuscation }) => Buffer.byteLength(JSON.stringify(choices)) + obfuscation.length,
    );
    assert.ok(
      bytes.every((each) => each % 64 === 0),
      bytes.join(),
    );
    assert.ok(new Set(padded.map(({ obfuscation }) => obfuscation)).size > 1);
    for (const stream_options of [{}, { include_obfuscation: false }])
      assert.ok(
        chunks((await chat({ stream: true, stream_options })).text).every((chunk) => !('obfuscation' in chunk)),
      );
  });

  it('counts that an upstream reports are passed on, those of others are absent', async () => {
    const usage = {
      ...{ promptTokens: 9, cachedTokens: 1, completionTokens: 4 },
      promptDetails: { image_tokens: 5, cache_write_tokens: 2 },
      completionDetails: { accepted_prediction_tokens: 1 },
    };
    api.engine.play(() => stream(withUsage(words('Hello there.'), usage)));
    const { json } = await chat({});
    assertSchema(ChatCompletion, json);
    const { prompt_tokens_details, completion_tokens_details } = json.usage;
    assert.deepEqual(prompt_tokens_details, { image_tokens: 5, cache_write_tokens: 2, cached_tokens: 1 });
    assert.deepEqual(completion_tokens_details, { accepted_prediction_tokens: 1, reasoning_tokens: 0 });
    const body = { model: 'general-8b', prompt: ['a', 'b'] };
    const completion = (await api.send('POST', '/v1/completions', { body })).json;
    assert.deepEqual(completion.usage.prompt_tokens_details, {
      image_tokens: 10,
      cache_write_tokens: 4,
      cached_tokens: 2,
    });
  });
});
