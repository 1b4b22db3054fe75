/** Anthropic's client, unmodified, with requests in the shape of a coding agent's. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { answers, MODELS, useBackends } from '../clients/backends.ts';
import { sendJson } from '../fixtures/upstream-server.ts';

const backends = useBackends();
const client = (apiKey = backends.service.key, maxRetries = 0) =>
  new Anthropic({ baseURL: backends.service.url, apiKey, maxRetries });

const INSTRUCTIONS = 'You are an agent that works on a repository. Read files before you change them. '.repeat(20);
const TOOLS: Anthropic.Tool[] = Array.from({ length: 20 }, (_, at) => ({
  name: `tool_${at}`,
  description: `Does the work number ${at}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}));
const AGENT = {
  model: MODELS.bundled,
  max_tokens: 64,
  system: [{ type: 'text' as const, text: INSTRUCTIONS, cache_control: { type: 'ephemeral' as const } }],
  tools: TOOLS,
};
const question = { role: 'user' as const, content: 'Read both files, then say what they are.' };

/** Two calls of the model that were made in parallel, and their results. */
const calls = [0, 1].map((at) => ({
  type: 'tool_use' as const,
  id: `toolu_${at}`,
  name: `tool_${at}`,
  input: { path: `a "quoted" path ${at}` },
}));
const results = calls.map(({ id }, at) => ({
  type: 'tool_result' as const,
  tool_use_id: id,
  content: [{ type: 'text' as const, text: `content ${at}` }],
  is_error: at === 1,
}));

describe('@anthropic-ai/sdk', () => {
  it('reads most of the prompt from the prefix cache from the second turn of an agent on', async () => {
    const first = await client().messages.create({ ...AGENT, messages: [question] });
    const turn = [
      question,
      { role: 'assistant' as const, content: calls },
      { role: 'user' as const, content: results },
    ];
    const second = await client().messages.create({ ...AGENT, messages: turn });
    const total = (usage: Anthropic.Usage) => usage.input_tokens + (usage.cache_read_input_tokens ?? 0);
    assert.ok(total(first.usage) > 400, JSON.stringify(first.usage));
    assert.ok((second.usage.cache_read_input_tokens ?? 0) > 0.8 * total(first.usage), JSON.stringify(second.usage));
  });

  it('streams the message that is also returned whole', async () => {
    const request = { ...AGENT, temperature: 0, messages: [question] };
    const whole = await client().messages.create(request);
    const stream = client().messages.stream(request);
    const final = await stream.finalMessage();
    const comparable = (message: Anthropic.Message) =>
      message.content.map((block) => (block.type === 'tool_use' ? { ...block, id: '' } : block));
    assert.deepEqual(comparable(final), comparable(whole));
    assert.equal(final.stop_reason, whole.stop_reason);
    assert.equal(final.usage.output_tokens, whole.usage.output_tokens);
  });

  it('counts tokens, lists models page by page, and ends a stream that is aborted', async () => {
    const { max_tokens: _, ...prompt } = AGENT;
    const { input_tokens: tokens } = await client().messages.countTokens({ ...prompt, messages: [question] });
    const { usage } = await client().messages.create({ ...AGENT, messages: [question] });
    assert.ok(tokens >= usage.input_tokens + (usage.cache_read_input_tokens ?? 0), 'an upper estimate');
    const ids: string[] = [];
    for await (const { id } of client().models.list({ limit: 2 })) ids.push(id);
    assert.ok(ids.length > 4 && new Set(ids).size === ids.length && ids.includes(MODELS.bundled), ids.join());
    const stream = client().messages.stream({ ...AGENT, messages: [question] });
    await new Promise((resolve) => stream.once('streamEvent', resolve));
    stream.abort();
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  });

  it('retries a service that is overloaded after the time that it names', async () => {
    const request = { model: MODELS.scripted, max_tokens: 64, messages: [question] };
    const busy = (times: number) =>
      backends.play((received, response, count) => {
        if (count >= times) return answers(received, response, count);
        sendJson(response, 503, { error: { message: 'Loading.' } }, { 'retry-after': '0' });
      });
    busy(100);
    await assert.rejects(client().messages.create(request), (error) => {
      assert.ok(error instanceof Anthropic.InternalServerError, String(error));
      assert.deepEqual([error.status, error.type], [503, 'overloaded_error']);
      assert.match(error.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/);
      return true;
    });
    // The service tries an upstream three times.
    busy(3);
    const message = await client(backends.service.key, 1).messages.create(request);
    assert.deepEqual(message.content[0], { type: 'text', text: 'Well.', citations: null });
  });

  it('has its own class for each error, with the id of the request', async () => {
    const create = (api: Anthropic, body: object) => api.messages.create({ ...AGENT, messages: [question], ...body });
    for (const [api, body, type] of [
      [client('quire-sk-unknown'), {}, Anthropic.AuthenticationError],
      [client(), { model: 'claude-17' }, Anthropic.NotFoundError],
      [client(), { max_tokens: 0 }, Anthropic.BadRequestError],
      [client(), { messages: [question, { role: 'assistant', content: 'It' }] }, Anthropic.BadRequestError],
    ] as const) {
      await assert.rejects(create(api, body), (error) => {
        assert.ok(error instanceof type, String(error));
        assert.match(error.requestID ?? '', /^req_/);
        return true;
      });
    }
  });
});
