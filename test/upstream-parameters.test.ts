/**
 * Models that reason, behind an upstream: what is forwarded to the server, and what comes back. Read with OpenAI's
 * client.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import type { GenerationEngine } from '../src/engines/engine.ts';
import { createUpstreamEngine } from '../src/engines/upstream/upstream-engine.ts';
import { createLogger } from '../src/lib/logger.ts';
import { type Handler, sendEvents, sendJson, startServer, type TestServer } from './fixtures/upstream-server.ts';
import { bindCatalogue, useApi } from './harness.ts';

const KWARGS = { enable_thinking: false, 'a "b"\n': [1, null] };
const HEAD = { id: 'x', created: 1, model: 'm' };
const USAGE = {
  ...{ prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
  completion_tokens_details: { reasoning_tokens: 7 },
};
const message = { role: 'assistant', reasoning_content: 'Hm, let me think.', content: 'Yes.' };

/** Thinks, and answers with this usage. */
const thinkWith =
  (usage: object): Handler =>
  ({ body }, response) => {
    if (!body?.['stream']) {
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      return sendJson(response, 200, { ...HEAD, choices, usage });
    }
    const delta = (fields: object, finish_reason: string | null = null) => ({
      ...HEAD,
      choices: [{ index: 0, delta: fields, finish_reason }],
    });
    sendEvents(response, [
      delta({ reasoning_content: 'Hm, ' }),
      delta({ reasoning_content: 'let me think.' }),
      delta({ content: 'Yes.' }),
      delta({}, 'stop'),
      { ...HEAD, choices: [], usage },
      '[DONE]',
    ]);
    response.end();
  };
const think = thinkWith(USAGE);

describe('requests to upstream servers', () => {
  let handler: Handler = think;
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
    config: { upstreamParameters: ['top_k', 'min_p', 'user'] },
    models: () => {
      const options = { model: 'm', apiKey: null, contextLength: null, proxy: null };
      engine = createUpstreamEngine({ ...options, baseUrls: [server.baseUrl], logger: createLogger('silent') });
      return bindCatalogue(engine);
    },
  });
  const client = () => new OpenAI({ apiKey: api.key, baseURL: `${api.url}/v1`, maxRetries: 0 });
  const bodies = () => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body ?? {});
  /** The fields that the server got beside those of every request. */
  const forwarded = () => {
    const { model: _, messages: __, prompt: ___, max_tokens: ____, stream: _____, ...fields } = bodies().at(-1) ?? {};
    const { stream_options: ______, ...others } = fields;
    return others;
  };
  const MESSAGES = [{ role: 'user', content: 'Is it?' }] as const;
  // Fields that OpenAI's types do not know.
  const odd = {
    ...{ chat_template_kwargs: KWARGS, top_k: 20, min_p: null, repetition_penalty: 2, cache_salt: 'mine' },
    user: 'someone',
  } as object;

  it('have the parameters of chat completions that tune reasoning, and those that the operator lists', async () => {
    const request = { model: 'general-8b', messages: [...MESSAGES], ...odd };
    await client().chat.completions.create({ ...request, reasoning_effort: 'high', verbosity: 'low' });
    const expected = { reasoning_effort: 'high', verbosity: 'low', chat_template_kwargs: KWARGS };
    assert.deepEqual(forwarded(), { ...expected, top_k: 20, user: 'someone' });
    await client().chat.completions.create({ ...request, stream: true });
    assert.deepEqual(forwarded(), { chat_template_kwargs: KWARGS, top_k: 20, user: 'someone' });
  });

  it('have those of responses, under the names of chat completions', async () => {
    const request = { model: 'general-8b', input: 'Is it?', ...odd, reasoning: { effort: 'low' as const } };
    await client().responses.create({ ...request, text: { verbosity: 'high' } });
    const expected = { reasoning_effort: 'low', verbosity: 'high', chat_template_kwargs: KWARGS };
    assert.deepEqual(forwarded(), { ...expected, top_k: 20, user: 'someone' });
  });

  it('have only listed ones of text completions', async () => {
    handler = (_request, response) =>
      sendJson(response, 200, { ...HEAD, choices: [{ index: 0, text: 'a', finish_reason: 'stop' }], usage: USAGE });
    try {
      await client().completions.create({ model: 'general-8b', prompt: 'Is it', ...odd });
      assert.deepEqual(forwarded(), { top_k: 20, user: 'someone' });
    } finally {
      handler = think;
    }
  });

  it('are sent again without a hint that the server does not accept', async () => {
    const errors = [
      { error: { message: 'Unrecognized request argument supplied: reasoning_effort', param: null, code: null } },
      {
        error: { message: "Unsupported value: 'low' is not supported", param: 'verbosity', code: 'unsupported_value' },
      },
    ];
    let count = 0;
    handler = (request, response, ...rest) => {
      const rejected = errors[count];
      count += 1;
      if (rejected === undefined) return think(request, response, ...rest);
      sendJson(response, 400, rejected);
    };
    try {
      const reasoning = { effort: 'low' as const };
      const { output_text } = await client().responses.create({
        ...{ model: 'general-8b', input: 'Is it?', reasoning, text: { verbosity: 'low' }, ...odd },
      });
      assert.equal(output_text, 'Yes.');
      assert.deepEqual(forwarded(), { chat_template_kwargs: KWARGS, top_k: 20, user: 'someone' });
      assert.equal(count, 3);
      count = 0;
      errors[0] = { error: { message: "Unknown parameter: 'chat_template_kwargs'.", param: null, code: null } };
      const asked = client().chat.completions.create({ model: 'general-8b', messages: [...MESSAGES], ...odd });
      await assert.rejects(asked, { status: 400, code: 'invalid_value' });
      assert.equal(count, 1, 'another parameter would change the answer');
    } finally {
      handler = think;
    }
  });

  it('return reasoning and its tokens in chat as in responses', async () => {
    const request = { model: 'general-8b', messages: [...MESSAGES] };
    const whole = await client().chat.completions.create(request);
    const { content, reasoning_content } = whole.choices[0]!.message as unknown as typeof message;
    assert.deepEqual([content, reasoning_content], [message.content, message.reasoning_content]);
    assert.deepEqual(whole.usage?.completion_tokens_details, { reasoning_tokens: 7 });
    const stream = await client().chat.completions.create({
      ...{ ...request, stream: true, stream_options: { include_usage: true } },
    });
    const chunks = await Array.fromAsync(stream);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta as { reasoning_content?: string } | undefined);
    assert.equal(deltas.map((delta) => delta?.reasoning_content ?? '').join(''), 'Hm, let me think.');
    assert.deepEqual(chunks.at(-1)?.usage?.completion_tokens_details, { reasoning_tokens: 7 });
    const response = await client().responses.create({ model: 'general-8b', input: 'Is it?' });
    assert.deepEqual(response.usage?.output_tokens_details, { reasoning_tokens: 7 });
  });

  it('without a count of the server, the reasoning deltas are counted', async () => {
    const { completion_tokens_details: _, ...usage } = USAGE;
    handler = thinkWith(usage);
    try {
      const stream = await client().chat.completions.create({
        ...{ model: 'general-8b', messages: [...MESSAGES], stream: true, stream_options: { include_usage: true } },
      });
      const last = (await Array.fromAsync(stream)).at(-1);
      assert.deepEqual(last?.usage?.completion_tokens_details, { reasoning_tokens: 2 });
      // The form of SGLang, which counts more than the answer has.
      handler = thinkWith({ ...usage, reasoning_tokens: 50 });
      const counted = await client().chat.completions.create({ model: 'general-8b', messages: [...MESSAGES] });
      assert.deepEqual(counted.usage?.completion_tokens_details, { reasoning_tokens: 9 });
    } finally {
      handler = think;
    }
  });
});
