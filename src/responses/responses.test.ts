import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDeadline } from '../../test/deadline.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says, thinks } from '../../test/response-turns.ts';
import { untilAborted } from '../../test/scripted-engine.ts';
import { serviceCaller } from '../lib/caller.ts';
import { createResponse } from './create-response.ts';
import { ResponseEvent } from './event-schema.ts';
import { ResponseResource } from './schema.ts';

const body = { model: 'general-8b', input: 'Is it warm in Oslo?' };
const weather = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

describe('POST /v1/responses', () => {
  const api = useApi();
  const post = (fields: object) => api.send('POST', '/v1/responses', { body: { ...body, ...fields } });

  it('200 with the answer, the echoed request, ids and usage', async () => {
    playTurns(api.engine, says('It is cold.'));
    const { status, json, headers } = await post({ metadata: { a: 'b' }, user: 'u', instructions: 'Be short.' });
    assert.equal(status, 200);
    assertSchema(ResponseResource, json);
    assert.match(json.id, /^resp_/);
    assert.match(json.output[0].id, /^msg_/);
    assert.deepEqual([json.status, json.output[0].content[0].text], ['completed', 'It is cold.']);
    assert.deepEqual([json.metadata, json.user, json.instructions], [{ a: 'b' }, 'u', 'Be short.']);
    assert.deepEqual([json.turn_count, json.tool_call_count], [1, 0]);
    assert.deepEqual(json.usage, {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 13,
    });
    assert.equal(headers.get('x-cache-status'), 'HIT');
    const { messages } = chatPromptOf(api.engine.calls[0]!);
    assert.deepEqual(messages, [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Is it warm in Oslo?' },
    ]);
  });

  it('counts responses, turns and tool calls in the metrics', async () => {
    const names = [
      'quire_responses_total{status="completed"}',
      'quire_response_turns_total',
      'quire_response_tool_calls_total{tool="function"}',
      'quire_responses_in_flight',
    ];
    const read = async () => {
      const lines = (await api.deps.metrics.metrics()).split('\n');
      return names.map((name) => Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length) ?? 0));
    };
    const before = await read();
    playTurns(api.engine, calls(['weather', { city: 'Oslo' }], ['weather', { city: 'Rome' }]));
    await post({ tools: [weather] });
    await post({ tools: [weather], stream: true, store: false });
    const after = await read();
    assert.deepEqual(
      after.map((value, at) => value - (before[at] ?? 0)),
      [2, 2, 4, 0],
    );
  });

  it('streams the six events in order; the last one equals the stored response', async () => {
    playTurns(api.engine, thinks('Hm.', says('It is cold.')));
    const answer = await post({ stream: true });
    const events = chunks(answer.text);
    for (const event of events) assertSchema(ResponseEvent, event);
    assert.deepEqual(
      events.map(({ type }) => type.replace('response.', '')),
      [
        'created',
        'output_item.added',
        'output_item.done',
        'output_item.added',
        ...Array(3).fill('output_text.delta'),
        'output_text.done',
        'output_item.done',
        'completed',
      ],
    );
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    );
    assert.deepEqual(events[0].response.status, 'incomplete');
    const { response } = events.at(-1);
    assert.deepEqual(
      response.output.map((item: { type: string }) => item.type),
      ['reasoning', 'message'],
    );
    assert.deepEqual(response.usage.output_tokens_details, { reasoning_tokens: 2 });
    assert.deepEqual((await api.send('GET', `/v1/responses/${response.id}`)).json, response);
  });

  it('ends with three parallel function calls, and continues with their outputs in either way', async () => {
    const cities = ['Oslo', 'Rome', 'Bern'];
    playTurns(api.engine, calls(...cities.map((city): [string, object] => ['weather', { city }])), says('Cold.'));
    const first = await post({ tools: [weather], tool_choice: 'required' });
    assert.equal(chatPromptOf(api.engine.calls[0]!).toolChoice, 'required');
    const made = first.json.output;
    assert.deepEqual(
      made.map((item: { arguments: string }) => JSON.parse(item.arguments).city),
      cities,
    );
    assert.ok(
      made.every(
        (item: { id: string; call_id: string }) => item.id.startsWith('fc_') && item.call_id.startsWith('call_'),
      ),
    );
    assert.deepEqual([first.json.status, first.json.tool_call_count], ['completed', 3]);
    const outputs = made.map(({ call_id }: { call_id: string }) => ({
      type: 'function_call_output',
      call_id,
      output: '3',
    }));
    const user = { role: 'user', content: body.input };
    const ways = [
      { previous_response_id: first.json.id, input: outputs },
      { input: [user, ...made, ...outputs] },
      { input: [user, ...made.map(({ id }: { id: string }) => ({ type: 'item_reference', id })), ...outputs] },
    ];
    const prompts = [];
    for (const way of ways) {
      playTurns(api.engine, says('Cold.'));
      const next = await post({ tools: [weather], ...way });
      assert.equal(next.json.output[0].content[0].text, 'Cold.', next.text);
      prompts.push(chatPromptOf(api.engine.calls[0]!).messages);
    }
    assert.equal(prompts[0]![1]!.tool_calls?.length, 3);
    assert.deepEqual(prompts[1], prompts[0]);
    assert.deepEqual(prompts[2], prompts[0]);
  });

  it('streams a function call as soon as it is complete, while the model writes the next one', async () => {
    const [first, second] = [
      calls(['weather', { city: 'Oslo' }]),
      calls(['weather', {}], ['weather', { city: 'Rome' }]),
    ];
    const gate = Promise.withResolvers<void>();
    playTurns(api.engine);
    api.engine.play(async function* () {
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield* first.slice(0, -1);
      yield second[2]!;
      await gate.promise;
      yield* [second[3]!, { type: 'text-delta', choice: 0, text: 'Both.', tokens: 1 } as const, second[4]!];
    });
    const answer = await fetch(`${api.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, tools: [weather], stream: true }),
    });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('output_item.done')) text += (await withDeadline('the first call', reader.read())).value;
    assert.ok(text.includes('Oslo') && !text.includes('Rome'));
    gate.resolve();
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    const { response } = chunks(text).at(-1);
    const shown = response.output.map((item: { arguments?: string; content?: [{ text: string }] }) =>
      item.content === undefined ? item.arguments : item.content[0].text,
    );
    assert.deepEqual(shown, ['{"city":"Oslo"}', 'Both.', '{"city":"Rome"}']);
    assert.deepEqual([response.status, response.tool_call_count], ['completed', 2]);
    playTurns(api.engine, says('Cold.'));
    const outputs = response.output.flatMap(({ call_id }: { call_id?: string }) =>
      call_id === undefined ? [] : [{ type: 'function_call_output', call_id, output: '3' }],
    );
    await post({ previous_response_id: response.id, input: outputs });
    const { messages } = chatPromptOf(api.engine.calls[0]!);
    assert.deepEqual(
      messages.map(({ role, content, tool_calls = [] }) => [role, content, tool_calls.length]),
      [
        ['user', body.input, 0],
        ['assistant', 'Both.', 2],
        ['tool', '3', 0],
        ['tool', '3', 0],
      ],
    );
  });

  it('keeps parallel calls apart whose parts arrive in turns', async () => {
    const cities = ['Oslo', 'Rome', 'Bern'];
    const events = calls(...cities.map((city): [string, object] => ['weather', { city }]));
    // The first parts of all calls, then the second parts in reverse.
    const parts = [events[0], events[2], events[4], events[5], events[3], events[1], events[6]] as typeof events;
    playTurns(api.engine, parts);
    const { json } = await post({ tools: [weather] });
    assert.deepEqual(
      json.output.map((item: { arguments: string }) => JSON.parse(item.arguments).city),
      cities,
    );
  });

  it('continues with the messages of a chat', async () => {
    playTurns(api.engine, says('Cold.'));
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const input = [
      { role: 'developer', content: 'Be short.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Warm?' }] },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '3' },
    ];
    const { json } = await post({ input, tools: [{ type: 'function', function: { name: 'weather' } }] });
    assert.equal(json.status, 'completed', JSON.stringify(json));
    const { messages } = chatPromptOf(api.engine.calls[0]!);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ['system', 'user', 'assistant', 'tool'],
    );
  });

  it('a disconnect stops the model and stores the response as incomplete', async () => {
    playTurns(api.engine);
    api.engine.play(async function* (_request, signal) {
      yield { type: 'prompt-end', promptTokens: 5, cachedTokens: 0 };
      yield { type: 'text-delta', choice: 0, text: 'It', tokens: 1 };
      await untilAborted(signal);
    });
    const controller = new AbortController();
    const answer = await fetch(`${api.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
      signal: controller.signal,
    });
    let text = '';
    for await (const bytes of answer.body!) {
      text += Buffer.from(bytes).toString();
      if (text.includes('delta')) break;
    }
    controller.abort();
    const id = /resp_\w+/.exec(text)![0];
    const stored = async () => {
      for (;;) {
        const { status, json } = await api.send('GET', `/v1/responses/${id}`);
        if (status === 200) return json;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const response = await withDeadline('the stored response', stored());
    assert.deepEqual([response.status, response.incomplete_details.reason], ['incomplete', 'client_disconnected']);
    assert.deepEqual([response.output[0].status, response.output[0].content[0].text], ['incomplete', 'It']);
    assert.deepEqual([response.usage.input_tokens, response.usage.output_tokens], [5, 1]);
  });

  it('ends the model call when the reader stops, and calls none before the second event is read', async () => {
    playTurns(api.engine, says('It is cold.'));
    const caller = serviceCaller('org_1', 'key_1');
    const call = { caller, requestId: 'req_1', endpoint: '/v1/responses', priority: 'interactive' } as const;
    const request = { ...body, stream: true, store: false };
    for (const read of ['response.created', 'response.output_item.added']) {
      const { events, resource } = await createResponse(api.deps, call, request, {
        signal: new AbortController().signal,
      });
      assert.equal((await events.next()).value?.type, 'response.created');
      assert.equal(api.engine.calls.length, 0);
      if (read !== 'response.created') assert.equal((await events.next()).value?.type, read);
      await events.return();
      assert.ok(api.engine.calls.every(({ ended }) => ended));
      assert.equal(api.engine.calls.length, read === 'response.created' ? 0 : 1);
      assert.deepEqual(resource().incomplete_details, { reason: 'client_disconnected' });
    }
  });

  it('401 and 403', async () => {
    assertError(await api.send('POST', '/v1/responses', { body, key: null }), 401, 'invalid_api_key');
    const { key } = await api.makeKey({ scopes: ['files'] });
    assertError(await api.send('POST', '/v1/responses', { body, key }), 403, 'insufficient_scope');
  });

  const message = { role: 'user', content: 'x' };
  const tool = { type: 'function', name: 'f' };
  const REJECTED: readonly [fields: object, param: string, code?: string][] = [
    [{ model: undefined }, 'model', 'missing_required_field'],
    [{ input: undefined }, 'input', 'missing_required_field'],
    [{ input: '  ' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [{ role: 'user' }] }, 'input.0.content', 'missing_required_field'],
    [{ input: [message, { type: 'function_call', name: 'f' }] }, 'input.1.call_id', 'missing_required_field'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, 'input.0.call_id'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input.0.content.0'],
    [{ input: [{ type: 'item_reference', id: 'msg_x' }] }, 'input.0.id'],
    [{ input: Array(501).fill({ type: 'item_reference', id: 'msg_x' }) }, 'input'],
    [{ input: [{ type: 'computer_call' }] }, 'input.0.type'],
    [
      { previous_response_id: 'resp_01kaj3v0b8s4x2m6n9p1q5r7t3' },
      'previous_response_id',
      'previous_response_not_found',
    ],
    [{ tools: [{ type: 'web_search' }] }, 'tools.0.type'],
    [{ tools: [{ type: 'function', name: 'f', allowed_callers: ['programmatic'] }] }, 'tools.0.allowed_callers'],
    [
      { tools: [{ type: 'mcp', server_label: 's', server_url: 'https://a.test', allowed_callers: [] }] },
      'tools.0.allowed_callers',
    ],
    [{ input: [{ role: 'assistant', content: 'x', phase: 'middle' }] }, 'input.0.phase'],
    [
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '', caller: { type: 'x' } }] },
      'input.0.caller.type',
    ],
    [{ input: [{ type: 'file_search_call', id: 'x', results: [{ score: '1' }] }] }, 'input.0.results.0.score'],
    [{ reasoning: { generate_summary: 'short' } }, 'reasoning.generate_summary'],
    [{ tools: [{ type: 'function' }] }, 'tools.0.name', 'missing_required_field'],
    [{ tools: [{ type: 'file_search' }] }, 'tools.0.file_search', 'missing_required_field'],
    [{ tools: [tool, tool] }, 'tools.1.name'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [tool], tool_choice: { type: 'function', name: 'g' } }, 'tool_choice.name'],
    [{ max_turns: 0 }, 'max_turns'],
    [{ max_turns: 51 }, 'max_turns'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ text: { format: { type: 'json_schema', name: 'x' } } }, 'text.format.schema', 'missing_required_field'],
    [{ truncation: 'middle' }, 'truncation'],
    [{ include: ['message.output_text.logprobs', 'everything'] }, 'include.1'],
    [{ reasoning: { effort: 'enormous' } }, 'reasoning.effort'],
    [{ reasoning: { summary: 'short' } }, 'reasoning.summary'],
    [{ text: { verbosity: 'chatty' } }, 'text.verbosity'],
    [{ top_logprobs: 21 }, 'top_logprobs'],
    [{ top_logprobs: -1 }, 'top_logprobs'],
    [{ chat_template_kwargs: 'x' }, 'chat_template_kwargs'],
    [{ reasoning_effort: 'high' }, 'reasoning_effort'],
    [{ conversation: 7 }, 'conversation'],
    [{ conversation: {} }, 'conversation.id', 'missing_required_field'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ background: true, store: false }, 'background'],
  ];
  for (const [fields, param, code = 'invalid_value'] of REJECTED) {
    it(`400 ${code} naming ${param}: ${JSON.stringify(fields).slice(0, 60)}`, async () => {
      assertError(await post(fields), 400, code, param);
    });
  }
});

describe('GET and DELETE /v1/responses/{response_id}', () => {
  const api = useApi();
  const create = async (fields: object = {}) =>
    (await api.send('POST', '/v1/responses', { body: { ...body, ...fields } })).json;

  it('404 for unknown ids, responses of another organization, and store: false', async () => {
    const { id } = await create();
    const { key } = await api.makeKey({ organization: 'other' });
    const unstored = await create({ store: false });
    for (const [name, options] of [
      [id, { key }],
      [unstored.id, {}],
      ['resp_x', {}],
    ] as const) {
      for (const method of ['GET', 'DELETE']) {
        assertError(await api.send(method, `/v1/responses/${name}`, options), 404, 'response_not_found', 'response_id');
      }
    }
    const foreign = await api.send('POST', '/v1/responses', { key, body: { ...body, previous_response_id: id } });
    assertError(foreign, 400, 'previous_response_not_found', 'previous_response_id');
  });

  it('deletes a response', async () => {
    const { id } = await create();
    const { json } = await api.send('DELETE', `/v1/responses/${id}`);
    assert.deepEqual(json, { id, object: 'response', deleted: true });
    assertError(await api.send('GET', `/v1/responses/${id}`), 404, 'response_not_found', 'response_id');
  });

  it('401 and 403', async () => {
    const { key } = await api.makeKey({ scopes: ['files'] });
    for (const method of ['GET', 'DELETE']) {
      assertError(await api.send(method, '/v1/responses/resp_x', { key: null }), 401, 'invalid_api_key');
      assertError(await api.send(method, '/v1/responses/resp_x', { key }), 403, 'insufficient_scope');
    }
  });
});
