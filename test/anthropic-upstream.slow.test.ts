/** A service whose chat model is on a server of Anthropic's Messages, as clients and operators use it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import OpenAI from 'openai';
import { chatLine, createBatchOf, readResults, waitForBatch } from './batches.ts';
import { type ResponseBlock, respondWithMessage, sendMessageError } from './fixtures/messages-server.ts';
import { type Handler, startServer, type TestServer } from './fixtures/upstream-server.ts';
import { type Service, startService, until } from './spawned-service.ts';

const MODEL = 'general-8b';
const KEY = 'sk-ant-secret';
const hello: ResponseBlock[] = [{ type: 'text', text: 'Hello, "world".' }];
const call: ResponseBlock = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Rome' } };
const TOOL = { name: 'look', parameters: { type: 'object', properties: { city: { type: 'string' } } } };

describe('a chat model on a server of Anthropic Messages', () => {
  let handler: Handler;
  let server: TestServer;
  let service: Service;
  let client: OpenAI;
  before(async () => {
    server = await startServer((...args) => handler(...args), { id: 'claude-test', max_input_tokens: 200_000 });
    const binding = `{base_urls: ['${server.baseUrl}'], protocol: anthropic, upstream_model: claude-test, api_key: ${KEY}}`;
    service = await startService({ config: `models:\n  ${MODEL}: ${binding}` });
    client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, maxRetries: 0 });
  });
  after(async () => {
    await service?.kill();
    await server.close();
  });
  beforeEach(() => {
    handler = respondWithMessage(hello);
    server.requests.length = 0;
  });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const posts = () => server.requests.filter(({ method, path }) => method === 'POST' && path === '/v1/messages');
  async function send(path: string, body: object) {
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : null };
  }

  it('answers chat completions, streamed and whole, with cached tokens in the usage', async () => {
    const whole = await client.chat.completions.create({ model: MODEL, messages });
    assert.equal(whole.choices[0]?.message.content, 'Hello, "world".');
    assert.deepEqual([whole.usage?.prompt_tokens, whole.usage?.prompt_tokens_details?.cached_tokens], [100, 85]);
    const stream = client.chat.completions.stream({ model: MODEL, messages, stream_options: { include_usage: true } });
    assert.equal((await stream.finalChatCompletion()).choices[0]?.message.content, 'Hello, "world".');
    assert.equal((await stream.totalUsage()).completion_tokens, 7);
  });

  it('calls tools and reads their results, in chat completions and responses', async () => {
    handler = ({ body }, ...rest) => {
      const turns = body?.['messages'] as { content: { type: string; content?: string }[] }[];
      const result = turns.at(-1)?.content.find(({ type }) => type === 'tool_result');
      const blocks: ResponseBlock[] = result ? [{ type: 'text', text: `It is ${result.content}.` }] : [call];
      return respondWithMessage(blocks)({ ...server.requests.at(-1)!, body }, ...rest);
    };
    const chat = { model: MODEL, tools: [{ type: 'function' as const, function: TOOL }] };
    const first = (await client.chat.completions.create({ ...chat, messages })).choices[0]!;
    assert.deepEqual([first.finish_reason, first.message.tool_calls?.length], ['tool_calls', 1]);
    const result = { role: 'tool' as const, tool_call_id: first.message.tool_calls![0]!.id, content: 'sunny' };
    const second = await client.chat.completions.create({ ...chat, messages: [...messages, first.message, result] });
    assert.equal(second.choices[0]?.message.content, 'It is sunny.');
    const tools = [{ type: 'function' as const, strict: false, ...TOOL }];
    const response = await client.responses.create({ model: MODEL, input: 'Hi', tools });
    const item = response.output.find(({ type }) => type === 'function_call') as { call_id: string };
    const output = { type: 'function_call_output' as const, call_id: item.call_id, output: 'sunny' };
    const next = { model: MODEL, input: [output], tools, previous_response_id: response.id };
    assert.equal((await client.responses.create(next)).output_text, 'It is sunny.');
  });

  it('answers /v1/messages through the engine, with thinking', async () => {
    const blocks: ResponseBlock[] = [{ type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }, ...hello];
    handler = respondWithMessage(blocks, { stop_reason: 'max_tokens' });
    const body = { model: MODEL, max_tokens: 5_000, messages, thinking: { type: 'enabled', budget_tokens: 1_024 } };
    const { json } = await send('/v1/messages', body);
    assert.deepEqual(json.content, [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'Hello, "world".', citations: null },
    ]);
    assert.equal(json.stop_reason, 'max_tokens');
    assert.deepEqual(json.usage, {
      ...{ input_tokens: 15, cache_creation_input_tokens: 0, cache_read_input_tokens: 85, output_tokens: 7 },
    });
    const streamed = await send('/v1/messages', { ...body, stream: true });
    assert.match(streamed.text, /event: message_stop/);
    for (const { body: sent } of posts()) assert.deepEqual(sent?.['output_config'], { effort: 'low' });
  });

  it('answers the lines of a batch, and from documents', async () => {
    const batch = await createBatchOf(service, [chatLine('a', 'Hi'), chatLine('b', 'Hi', { seed: 7 })]);
    const ended = await waitForBatch(service, batch.id);
    const [line] = await readResults(service, ended.output_file_id);
    assert.equal(line.response.body.choices[0].message.content, 'Hello, "world".');
    const [rejected] = await readResults(service, ended.error_file_id);
    assert.deepEqual([rejected.custom_id, rejected.response.body.error.param], ['b', 'seed']);

    const { json: base } = await send('/v1/knowledge-bases', { name: 'Manuals' });
    const path = `/v1/knowledge-bases/${base.id}`;
    await send(`${path}/documents`, { key: 'pool', text: 'The pool of Ashford opens at nine.' });
    const isFound = async () => (await send(`${path}/retrieve`, { query: 'pool' })).json.results.length > 0;
    await until(isFound);
    handler = respondWithMessage([{ type: 'text', text: 'The pool opens at nine [1].' }]);
    const question = [{ role: 'user', content: 'When does the pool open?' }];
    const { json } = await send('/v1/chat/completions', {
      model: MODEL,
      messages: question,
      knowledge_bases: [base.id],
    });
    assert.match(json.choices[0].message.content, /opens at nine/);
    assert.match(JSON.stringify(posts().at(-1)?.body), /pool of Ashford opens at nine/);
  });

  it('is rejected by 400 for what Messages does not have, and by 503 while the server is overloaded', async () => {
    const rejected = await send('/v1/chat/completions', { model: MODEL, messages, n: 2 });
    assert.deepEqual([rejected.status, rejected.json.error.param], [400, 'n']);
    const completion = await send('/v1/completions', { model: MODEL, prompt: 'Once' });
    assert.deepEqual([completion.status, completion.json.error.param], [400, 'prompt']);
    assert.equal(posts().length, 0);
    handler = (_request, response) => sendMessageError(response, 529, 'Overloaded');
    const { status, json } = await send('/v1/messages', { model: MODEL, max_tokens: 9, messages });
    assert.deepEqual([status, json.error.type], [503, 'overloaded_error']);
  });

  it('is shown by doctor with its schema support, without its key', async () => {
    handler = respondWithMessage([{ type: 'text', text: '{"k7":"qv-4417"}' }]);
    const { code, stdout, stderr } = await service.quire('doctor');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /claude-test/);
    assert.match(stdout, /schema/i);
    assert.ok(![stdout, stderr, service.stderr()].some((text) => text.includes(KEY)));
  });
});
