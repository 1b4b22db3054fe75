/**
 * The requirements of the Open Responses specification (2026-04-24) that apply to HTTP, one test each. The table in
 * docs/use/responses.md has the same rows. `accepts`: the field is honoured; `rejects`: the contract narrows the
 * specification, and 400 names the field.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { type Answer, chunks, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says, thinks } from '../../test/response-turns.ts';

const api = useApi();
const send = (fields: object = {}): Promise<Answer> =>
  api.send('POST', '/v1/responses', { body: { model: 'general-8b', input: 'Hi', ...fields } });
const tool = { type: 'function', name: 'f', description: null, parameters: null, strict: true };
const lastCall = () => api.engine.calls.at(-1)!;

type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'null';
const kindsOf = (value: unknown): Kind[] => {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value as Kind];
};
/** Asserts that an object has the fields, each of one of the kinds. */
function assertFields(value: Record<string, unknown>, fields: Readonly<Record<string, string>>): void {
  for (const [name, kinds] of Object.entries(fields)) {
    assert.ok(name in value, `${name} is required`);
    const has = kindsOf(value[name]).some((kind) => kinds.split('|').includes(kind));
    assert.ok(has, `${name} is ${kinds}, not ${JSON.stringify(value[name])}`);
  }
}

/** Required fields of `ResponseResource`. */
const RESOURCE = {
  id: 'string',
  object: 'string',
  created_at: 'integer',
  completed_at: 'integer|null',
  status: 'string',
  incomplete_details: 'object|null',
  model: 'string',
  previous_response_id: 'string|null',
  instructions: 'string|null',
  output: 'array',
  error: 'object|null',
  tools: 'array',
  tool_choice: 'string|object',
  truncation: 'string',
  parallel_tool_calls: 'boolean',
  text: 'object',
  top_p: 'number',
  presence_penalty: 'number',
  frequency_penalty: 'number',
  top_logprobs: 'integer',
  temperature: 'number',
  reasoning: 'object|null',
  usage: 'object|null',
  max_output_tokens: 'integer|null',
  max_tool_calls: 'integer|null',
  store: 'boolean',
  background: 'boolean',
  service_tier: 'string',
  metadata: 'object|null',
  safety_identifier: 'string|null',
  prompt_cache_key: 'string|null',
};
const USAGE = {
  input_tokens: 'integer',
  output_tokens: 'integer',
  total_tokens: 'integer',
  input_tokens_details: 'object',
  output_tokens_details: 'object',
};

/** Echo of a request field in the response. */
const echoes = (fields: object) => async () => {
  playTurns(api.engine, says('Hi.'));
  const { status, json, text } = await send(fields);
  assert.equal(status, 200, text);
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(json[name], value);
};
const accepts = (fields: object) => async () => {
  playTurns(api.engine, says('{}'));
  const { status, text } = await send(fields);
  assert.equal(status, 200, text);
};
const rejects = (fields: object, param: string) => async () => {
  const { status, json, text } = await send(fields);
  assert.deepEqual([status, json.error?.param], [400, param], text);
};
const item = (fields: object) => accepts({ input: [fields] });
const streamed = async (fields: object = {}) => {
  const answer = await send({ ...fields, stream: true });
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  return { answer, events: chunks(answer.text) };
};
const choosing =
  (choice: unknown, expected: unknown, tools: object[] = [tool]) =>
  async () => {
    playTurns(api.engine, says('Hi.'));
    const { status, text } = await send({ tools, tool_choice: choice });
    assert.equal(status, 200, text);
    assert.deepEqual(chatPromptOf(lastCall()).toolChoice, expected);
  };

const REQUIREMENTS: Readonly<Record<string, () => Promise<void>>> = {
  'a response is application/json': async () => {
    playTurns(api.engine, says('Hi.'));
    assert.match((await send()).headers.get('content-type') ?? '', /^application\/json/);
  },
  'a response has the required fields of ResponseResource': async () => {
    const { json } = await send();
    assertFields(json, RESOURCE);
    assert.deepEqual([json.object, json.truncation], ['response', 'disabled']);
    assertFields(json.text.format, { type: 'string' });
    assertFields(json.reasoning, { effort: 'string|null', summary: 'string|null' });
  },
  'usage has its required fields, and adds up': async () => {
    const { usage } = (await send()).json;
    assertFields(usage, USAGE);
    assertFields(usage.input_tokens_details, { cached_tokens: 'integer' });
    assertFields(usage.output_tokens_details, { reasoning_tokens: 'integer' });
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  },
  'a message item has id, status, role and output_text parts': async () => {
    const [message] = (await send()).json.output;
    assertFields(message, { type: 'string', id: 'string', status: 'string', role: 'string', content: 'array' });
    assertFields(message.content[0], { type: 'string', text: 'string', annotations: 'array' });
  },
  'a function_call item has id, call_id, name, arguments and status': async () => {
    playTurns(api.engine, calls(['f', { a: 1 }]));
    const [call] = (await send({ tools: [tool] })).json.output;
    const required = ['type', 'id', 'call_id', 'name', 'arguments', 'status'];
    assertFields(call, Object.fromEntries(required.map((name) => [name, 'string'])));
  },
  'a reasoning item has id, summary and content': async () => {
    playTurns(api.engine, thinks('Hm.', says('Hi.')));
    const [reasoning] = (await send()).json.output;
    assertFields(reasoning, { type: 'string', id: 'string', summary: 'array', content: 'array' });
  },
  'tools are shown flat, with all fields of FunctionTool': async () => {
    const [shown] = (await send({ tools: [{ type: 'function', name: 'f' }] })).json.tools;
    assert.deepEqual(shown, { type: 'function', name: 'f', description: null, parameters: null, strict: null });
  },
  'an incomplete response has incomplete_details.reason': async () => {
    playTurns(api.engine, says('Hi', 'length'));
    const { json } = await send();
    assert.deepEqual([json.status, json.incomplete_details.reason], ['incomplete', 'max_output_tokens']);
  },
  'an error has message, type, param and code': async () => {
    const { json } = await send({ model: undefined });
    assertFields(json.error, { message: 'string', type: 'string', param: 'string|null', code: 'string|null' });
  },
  'stream: true is text/event-stream and ends with [DONE]': async () => {
    playTurns(api.engine, says('One two.'));
    const { answer } = await streamed();
    assert.ok(answer.text.endsWith('data: [DONE]\n\n'));
  },
  'events have a type and sequence numbers that increase': async () => {
    const { events } = await streamed();
    assert.ok(events.every((event, index) => typeof event.type === 'string' && event.sequence_number === index));
  },
  'response.created is first and has a response': async () => {
    const [first] = (await streamed()).events;
    assert.equal(first.type, 'response.created');
    assertFields(first.response, RESOURCE);
  },
  'response.output_item.added and .done have output_index and item': async () => {
    const { events } = await streamed();
    for (const name of ['added', 'done']) {
      const event = events.find(({ type }) => type === `response.output_item.${name}`);
      assertFields(event, { sequence_number: 'integer', output_index: 'integer', item: 'object' });
    }
  },
  'response.output_text.delta has item_id, output_index, content_index and delta': async () => {
    const event = (await streamed()).events.find(({ type }) => type === 'response.output_text.delta');
    assertFields(event, { item_id: 'string', output_index: 'integer', content_index: 'integer', delta: 'string' });
  },
  'response.output_text.done has the whole text': async () => {
    const event = (await streamed()).events.find(({ type }) => type === 'response.output_text.done');
    assertFields(event, { item_id: 'string', output_index: 'integer', content_index: 'integer', text: 'string' });
    assert.equal(event.text, 'One two.');
  },
  'response.completed is last and has the whole response': async () => {
    const last = (await streamed()).events.at(-1);
    assert.equal(last.type, 'response.completed');
    assertFields(last.response, RESOURCE);
  },
  'response.incomplete ends an incomplete stream': async () => {
    playTurns(api.engine, says('Hi', 'length'));
    assert.equal((await streamed()).events.at(-1).type, 'response.incomplete');
  },
  'response.failed ends a failed stream, with error.code and error.message': async () => {
    playTurns(api.engine, new Error('broken'));
    const last = (await streamed()).events.at(-1);
    assert.equal(last.type, 'response.failed');
    assertFields(last.response.error, { code: 'string', message: 'string' });
  },
  'stream_options.include_obfuscation': accepts({ stream_options: { include_obfuscation: false } }),
  'input: a string is a user message': async () => {
    playTurns(api.engine, says('Hi.'));
    await send();
    assert.deepEqual(chatPromptOf(lastCall()).messages, [{ role: 'user', content: 'Hi' }]);
  },
  'input: user message, string': item({ type: 'message', role: 'user', content: 'x' }),
  'input: user message, input_text parts': item({
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: 'x' }],
  }),
  'input: system message': item({ type: 'message', role: 'system', content: 'x' }),
  'input: developer message': item({ type: 'message', role: 'developer', content: 'x' }),
  'input: assistant message, output_text and refusal parts': item({
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'output_text', text: 'x', annotations: [] },
      { type: 'refusal', refusal: 'no' },
    ],
  }),
  'input: function_call with function_call_output, string and parts': accepts({
    input: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: '1' }] },
      { type: 'function_call', call_id: 'd', name: 'f', arguments: '{}', id: null, status: null },
      { type: 'function_call_output', call_id: 'd', output: '1', id: null, status: null },
    ],
  }),
  'input: reasoning': accepts({
    input: [
      { type: 'reasoning', summary: [] },
      { role: 'user', content: 'x' },
    ],
  }),
  'input: item_reference': async () => {
    playTurns(api.engine, says('Earlier.'));
    const [{ id }] = (await send()).json.output;
    await send({
      input: [
        { type: 'item_reference', id },
        { role: 'user', content: 'x' },
      ],
    });
    assert.equal(chatPromptOf(lastCall()).messages[0]?.content, 'Earlier.');
  },
  'input: images, for models that read text only': rejects(
    { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
    'input.0.content.0',
  ),
  'input: text files': item({
    role: 'user',
    content: [{ type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' }],
  }),
  'input: other files are rejected': rejects(
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
    'input.0.content.0.file_id',
  ),
  'input: compaction items of /v1/responses/compact': async () => {
    playTurns(api.engine, says('Notes.'));
    const body = { model: 'general-8b', input: 'Hi' };
    const { json } = await api.send('POST', '/v1/responses/compact', { body });
    assertFields(json, { id: 'string', object: 'string', output: 'array', created_at: 'integer', usage: 'object' });
    assertFields(json.usage, USAGE);
    await accepts({ input: [...json.output, { role: 'user', content: 'And?' }] })();
  },
  previous_response_id: async () => {
    playTurns(api.engine, says('Earlier.'));
    const { id } = (await send()).json;
    const { json } = await send({ previous_response_id: id, input: 'And?' });
    assert.equal(json.previous_response_id, id);
    const contents = chatPromptOf(lastCall()).messages.map(({ content }) => content);
    assert.deepEqual(contents, ['Hi', 'Earlier.', 'And?']);
  },
  instructions: echoes({ instructions: 'Be short.' }),
  'tool_choice auto': choosing('auto', 'auto'),
  'tool_choice none': choosing('none', 'none'),
  'tool_choice required': choosing('required', 'required'),
  'tool_choice: a function': choosing({ type: 'function', name: 'f' }, { name: 'f' }),
  'tool_choice: allowed_tools': async () => {
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] };
    await choosing(choice, 'required', [{ type: 'function', name: 'g' }, tool])();
    assert.deepEqual(
      chatPromptOf(lastCall()).tools.map((offered) => offered.function.name),
      ['f'],
    );
  },
  parallel_tool_calls: echoes({ parallel_tool_calls: false }),
  metadata: echoes({ metadata: { key: 'value' } }),
  'text.format text, json_object and json_schema': async () => {
    const schema = { type: 'object' };
    for (const format of [
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', name: 'x', schema, strict: true },
    ]) {
      await echoes({ text: { format } })();
      assert.deepEqual(lastCall().request.format, format);
    }
    await echoes({ text: { format: { type: 'json_object', schema } } })();
    assert.deepEqual(lastCall().request.format, { type: 'json_schema', name: 'response', schema, strict: true });
  },
  'temperature and top_p': echoes({ temperature: 0.5, top_p: 0.5 }),
  'presence_penalty and frequency_penalty': echoes({ presence_penalty: 1, frequency_penalty: -1 }),
  max_output_tokens: echoes({ max_output_tokens: 16 }),
  max_tool_calls: echoes({ max_tool_calls: 3 }),
  store: echoes({ store: false }),
  'background without store is rejected': rejects({ background: true, store: false }, 'background'),
  'safety_identifier and prompt_cache_key': echoes({ safety_identifier: 'a', prompt_cache_key: 'b' }),
  'include: reasoning.encrypted_content': accepts({ include: ['reasoning.encrypted_content'] }),
  'include: message.output_text.logprobs': async () => {
    await accepts({ include: ['message.output_text.logprobs'] })();
    assert.equal(lastCall().request.logprobs, 0);
  },
  top_logprobs: async () => {
    await echoes({ top_logprobs: 3 })();
    assert.equal(lastCall().request.logprobs, 3);
  },
  'service_tier auto, default, flex and priority': async () => {
    for (const service_tier of ['auto', 'default', 'flex', 'priority']) await accepts({ service_tier })();
  },
  'truncation disabled and auto': async () => {
    for (const truncation of ['disabled', 'auto']) await echoes({ truncation })();
  },
  'reasoning.effort and reasoning.summary': async () => {
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']) {
      await accepts({ reasoning: { effort, summary: 'auto' } })();
      assert.deepEqual(lastCall().request.upstreamParameters, { reasoning_effort: effort });
    }
  },
  'text.verbosity': async () => {
    await accepts({ text: { verbosity: 'low' } })();
    assert.deepEqual(lastCall().request.upstreamParameters, { verbosity: 'low' });
  },
};

describe('Open Responses over HTTP', () => {
  for (const [requirement, check] of Object.entries(REQUIREMENTS)) it(requirement, check);

  it('the table in docs/use/responses.md has the same rows', async () => {
    const page = await readFile(new URL('../../docs/use/responses.md', import.meta.url), 'utf8');
    const table = page.slice(page.indexOf('## Open Responses'));
    const rows = [...table.matchAll(/^\| (.+?) \| (yes|rejected) \|$/gm)].map(([, name = '']) =>
      name.replaceAll('`', ''),
    );
    assert.deepEqual(rows, Object.keys(REQUIREMENTS));
    assert.match(table, new RegExp(`${rows.length} of ${rows.length}`));
  });
});
