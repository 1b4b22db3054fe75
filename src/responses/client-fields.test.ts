/** Fields that clients send and send back: repeated by the response, kept by a conversation, or ignored. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bundledEmbedder, embeddedBy } from '../../test/embedder.ts';
import { type McpServerDouble, startMcpServer, textResult } from '../../test/fixtures/mcp-server.ts';
import { assertError, assertSchema, chunks, useApi } from '../../test/harness.ts';
import { calls, chatPromptOf, playTurns, says } from '../../test/response-turns.ts';
import type { GenerationEvent } from '../engines/engine.ts';
import { ConversationItemList } from './conversation-schema.ts';
import { ResponseInputItemList } from './input-items-schema.ts';
import { ResponseResource } from './schema.ts';

const embedder = bundledEmbedder();
after(() => embedder.close());
const api = useApi({ ...embeddedBy(embedder), config: { allowPrivateHosts: ['127.0.0.1'] } });
const body = { model: 'general-8b', input: 'Is it "warm"\n in Oslo?' };
const WEATHER = { type: 'function', name: 'weather' };
const send = async (fields: object) => {
  const { status, json, text } = await api.send('POST', '/v1/responses', { body: { ...body, ...fields } });
  assert.equal(status, 200, text);
  assertSchema(ResponseResource, json);
  return json;
};
/** A text, and calls after it. */
const saysThenCalls = (text: string, ...wanted: readonly [name: string, args: object][]): GenerationEvent[] => [
  ...says(text).slice(0, -1),
  ...calls(...wanted),
];

describe('phase of a message', () => {
  it('is commentary before calls and final_answer otherwise, in the events as in the response', async () => {
    playTurns(api.engine, saysThenCalls('I look.', ['weather', { city: 'Oslo' }]));
    const first = await send({ tools: [WEATHER] });
    assert.deepEqual([first.output[0].phase, first.output[1].type], ['commentary', 'function_call']);
    playTurns(api.engine, says('Yes.'));
    const { text } = await api.send('POST', '/v1/responses', { body: { ...body, stream: true } });
    const events = chunks(text);
    const phases = events.flatMap(({ type, item }) => (type.startsWith('response.output_item') ? [item.phase] : []));
    assert.deepEqual(phases, [undefined, 'final_answer'], 'known once the text has ended');
    assert.equal(events.at(-1).response.output[0].phase, 'final_answer');
  });
});

describe('fields that a response repeats', () => {
  it('are those of the tools, of the choice and of the format', async () => {
    playTurns(api.engine, says('{}'));
    const { json } = await api.send('POST', '/v1/knowledge-bases', { body: { name: 'Empty' } });
    const rules = { defer_loading: true, allowed_callers: ['programmatic', 'direct'] };
    const hybrid_search = { embedding_weight: 0.25, text_weight: 1 };
    const format = { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true };
    const tool_choice = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'weather' }] };
    const tools = [
      { ...WEATHER, ...rules, output_schema: { type: 'string' } },
      { type: 'file_search', vector_store_ids: [json.id], ranking_options: { hybrid_search } },
    ];
    const response = await send({ tools, tool_choice, text: { format } });
    assert.deepEqual(response.tools[0], { ...tools[0], description: null, parameters: null, strict: null });
    assert.deepEqual(response.tools[1].ranking_options, { ranker: 'auto', score_threshold: 0, hybrid_search });
    assert.deepEqual([response.tool_choice, response.text.format], [tool_choice, format]);
  });

  it('generate_summary is the former name of summary; mode and context say what is done', async () => {
    playTurns(api.engine, says('Yes.'));
    const { reasoning } = await send({ reasoning: { generate_summary: 'concise', mode: 'pro', context: 'all_turns' } });
    const effective = { generate_summary: null, mode: 'standard', context: 'current_turn' };
    assert.deepEqual(reasoning, { effort: null, summary: 'concise', ...effective });
    const both = await send({ reasoning: { generate_summary: 'concise', summary: 'auto' } });
    assert.equal(both.reasoning.summary, 'auto');
  });
});

describe('items that a client sends back', () => {
  const origin = { namespace: 'crm', caller: { type: 'program', caller_id: 'prog_1' } };
  const passage = { text: 'It is "warm".', file_id: 'file-1', score: 0.5, attributes: { year: 2024, a: 'b', c: true } };
  const items = [
    { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'I look.' }] },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}', ...origin },
    { type: 'function_call_output', call_id: 'call_1', output: '21', ...origin },
    { type: 'file_search_call', id: 'fs_1', queries: ['Oslo'], results: [{ ...passage, filename: "a's.md" }] },
    { role: 'user', content: 'And now?' },
  ];
  const check = ([message, call, output, search]: Record<string, unknown>[]) => {
    assert.equal(message?.['phase'], 'commentary');
    for (const one of [call, output]) assert.deepEqual({ ...one, ...origin }, one);
    assert.deepEqual(search?.['results'], [{ ...passage, filename: "a's.md" }]);
  };

  it('are kept whole by a response and by a conversation; models read the text only', async () => {
    playTurns(api.engine, says('Yes.'));
    const { id } = await send({ input: items });
    const prompt = JSON.stringify(chatPromptOf(api.engine.calls[0]!).messages);
    assert.ok(prompt.includes("a's.md") && prompt.includes('It is \\\\\\"warm'), prompt);
    for (const text of ['commentary', 'crm', 'prog_1', 'file-1', '2024']) assert.ok(!prompt.includes(text), text);
    const listed = await api.send('GET', `/v1/responses/${id}/input_items?order=asc&include=x`);
    assertSchema(ResponseInputItemList, listed.json);
    check(listed.json.data);
    const conversation = await api.send('POST', '/v1/conversations', { body: { items } });
    const kept = await api.send('GET', `/v1/conversations/${conversation.json.id}/items?order=asc`);
    assertSchema(ConversationItemList, kept.json);
    check(kept.json.data);
  });

  it('input_file with a text is read with its name, by users and by functions', async () => {
    const file = (text: string, type = 'text/markdown') => ({
      type: 'input_file',
      filename: "a's.md",
      file_data: `data:${type};base64,${Buffer.from(text).toString('base64')}`,
    });
    const input = [
      { role: 'user', content: [file('# "Größe"\n'), { type: 'input_text', text: '?' }] },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [{ ...file('{}', 'application/json'), filename: null }],
      },
    ];
    playTurns(api.engine, says('Yes.'));
    await send({ input });
    const [message, , output] = chatPromptOf(api.engine.calls[0]!).messages;
    assert.deepEqual([message?.content, output?.content], ['a\'s.md\n\n# "Größe"\n?', '{}']);
  });

  for (const [part, param, code = 'invalid_value'] of [
    [{}, 'file_data', 'missing_required_field'],
    [{ file_id: 'file-1' }, 'file_id'],
    [{ file_url: 'https://a.test/a.txt' }, 'file_url'],
    [{ file_data: 'aGk=' }, 'file_data'],
    [{ file_data: 'data:text/plain,hi' }, 'file_data'],
    [{ file_data: 'data:application/pdf;base64,aGk=' }, 'file_data'],
    [{ file_data: 'data:text/plain;base64,/w==' }, 'file_data'],
  ] as [object, string, string?][])
    it(`400 ${code} naming ${param} of an input_file: ${JSON.stringify(part)}`, async () => {
      const input = [{ role: 'user', content: [{ type: 'input_file', ...part }] }];
      const answer = await api.send('POST', '/v1/responses', { body: { ...body, input } });
      assertError(answer, 400, code, `input.0.content.0.${param}`);
      const conversation = await api.send('POST', '/v1/conversations', { body: { items: input } });
      assertError(conversation, 400, code, `items.0.content.0.${param}`);
    });

  it('400 for a file of the assistant', async () => {
    const input = [{ role: 'assistant', content: [{ type: 'input_file', file_data: 'data:text/plain;base64,aGk=' }] }];
    const answer = await api.send('POST', '/v1/responses', { body: { ...body, input } });
    assertError(answer, 400, 'invalid_value', 'input.0.content.0');
  });

  it('what the service ignores changes no prompt', async () => {
    const ignored = { annotations: [{ type: 'x' }], logprobs: null, prompt_cache_breakpoint: { mode: 'explicit' } };
    const part = { type: 'input_text', text: 'Hi', ...ignored };
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] };
    playTurns(api.engine, says('Yes.'));
    await send({ input: [reasoning, { role: 'user', content: [part] }] });
    assert.deepEqual(chatPromptOf(api.engine.calls[0]!).messages, [{ role: 'user', content: 'Hi' }]);
  });

  it('null removes the metadata of a conversation', async () => {
    const { json } = await api.send('POST', '/v1/conversations', { body: { metadata: { a: 'b' } } });
    const path = `/v1/conversations/${json.id}`;
    assert.deepEqual((await api.send('POST', path, { body: { metadata: null } })).json.metadata, {});
    assertError(await api.send('POST', path, { body: {} }), 400, 'missing_required_field', 'metadata');
  });
});

const MCP_CALL = { type: 'mcp_call', id: 'mcp_1', server_label: 'w', name: 'forecast', arguments: '{}' };

describe('the error of an mcp_call', () => {
  let server: McpServerDouble;
  before(async () => {
    server = await startMcpServer();
  });
  after(() => server.close());

  it('is an object, also in the list of items', async () => {
    server.call = () => textResult('No "city".', true);
    playTurns(api.engine, calls(['w__forecast', { city: 'x' }]), says('No.'));
    const tool = { type: 'mcp', server_label: 'w', server_url: server.url, require_approval: 'never' };
    const first = await send({ tools: [tool] });
    const error = first.output.find(({ type }: { type: string }) => type === 'mcp_call')?.error;
    assert.equal(error.type, 'mcp_tool_execution_error');
    const { id } = await send({ previous_response_id: first.id });
    const { json } = await api.send('GET', `/v1/responses/${id}/input_items`);
    assertSchema(ResponseInputItemList, json);
    assert.deepEqual(json.data.find(({ type }: { type: string }) => type === 'mcp_call').error, error);
    const failure = { type: 'mcp_protocol_error', code: -32000, message: 'No "session".' };
    const sent = { ...MCP_CALL, error: failure };
    const again = await send({ input: [sent, { role: 'user', content: 'So?' }] });
    const kept = await api.send('GET', `/v1/responses/${again.id}/input_items?order=asc`);
    assert.deepEqual(kept.json.data[0].error, failure);
  });
});
