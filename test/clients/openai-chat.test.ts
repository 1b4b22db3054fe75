import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type OpenAI from 'openai';
import { CHAT_BACKENDS, MODELS, useBackends } from './backends.ts';

const backends = useBackends();
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'You tell stories.' },
  { role: 'user', content: 'Tell me of a fox.' },
];
/** Greedy sampling, so that two calls are comparable. */
const greedy = { messages, temperature: 0, max_tokens: 24 };

function assertUsage(usage: OpenAI.CompletionUsage | null | undefined): void {
  assert.ok(usage);
  assert.ok(usage.prompt_tokens > 0);
  assert.ok(usage.completion_tokens > 0);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  assert.equal(typeof usage.prompt_tokens_details?.cached_tokens, 'number');
}

for (const [backend, model] of CHAT_BACKENDS) {
  describe(`openai: chat on ${backend}`, () => {
    it('returns a non-streamed response with usage and request id', async () => {
      const answer = await backends.openai().chat.completions.create({ model, ...greedy });
      assert.match(answer.id, /^chatcmpl-/);
      assert.equal(answer.object, 'chat.completion');
      assert.equal(answer.model, model);
      assert.equal(answer.choices.length, 1);
      const [choice] = answer.choices;
      assert.equal(choice?.message.role, 'assistant');
      assert.equal(typeof choice?.message.content, 'string');
      assert.match(choice?.finish_reason ?? '', /^(stop|length)$/);
      assertUsage(answer.usage);
      assert.match(answer._request_id ?? '', /^req_/);
    });

    it('streams chunks that add up to the non-streamed response', async () => {
      const whole = await backends.openai().chat.completions.create({ model, ...greedy });
      const stream = await backends.openai().chat.completions.create({ model, ...greedy, stream: true });
      let text = '';
      const reasons: (string | null)[] = [];
      for await (const { choices, usage } of stream) {
        assert.equal(choices.length, 1, 'a chunk without choices that nobody asked for');
        assert.ok(usage == null, 'usage that nobody asked for');
        text += choices[0]?.delta.content ?? '';
        reasons.push(choices[0]?.finish_reason ?? null);
      }
      assert.equal(text, whole.choices[0]?.message.content);
      assert.equal(reasons.at(-1), whole.choices[0]?.finish_reason);
      assert.ok(reasons.slice(0, -1).every((reason) => reason === null));
    });

    it('supports the stream helper: events, final message and usage', async () => {
      const stream = backends.openai().chat.completions.stream({
        model,
        ...greedy,
        stream_options: { include_usage: true },
      });
      let text = '';
      let snapshot = '';
      stream.on('content', (delta, all) => {
        text += delta;
        snapshot = all;
      });
      const answer = await stream.finalChatCompletion();
      assert.equal(text, (await stream.finalContent()) ?? '');
      assert.equal(snapshot, text);
      assert.equal(answer.choices[0]?.message.content, text);
      assert.match(answer.choices[0]?.finish_reason ?? '', /^(stop|length)$/);
      assertUsage(answer.usage);
      assert.deepEqual((await stream.totalUsage()).total_tokens, answer.usage?.total_tokens);
    });

    it('indexes several choices, streamed and not', async () => {
      const asked = { model, messages, max_tokens: 6, n: 3, seed: 5 };
      const whole = await backends.openai().chat.completions.create(asked);
      assert.deepEqual(
        whole.choices.map(({ index }) => index),
        [0, 1, 2],
      );
      const stream = backends.openai().chat.completions.stream(asked);
      const { choices } = await stream.finalChatCompletion();
      assert.deepEqual(choices.map(({ index }) => index).toSorted(), [0, 1, 2]);
      assert.ok(choices.every(({ finish_reason: reason }) => /^(stop|length)$/.test(reason)));
    });

    it('returns the log probability of each token', async () => {
      const asked = { model, ...greedy, max_tokens: 4, logprobs: true, top_logprobs: 2 };
      const whole = await backends.openai().chat.completions.create(asked);
      const tokens = whole.choices[0]?.logprobs?.content ?? [];
      assert.ok(tokens.length > 0);
      assert.ok(tokens.every(({ logprob, top_logprobs: top }) => logprob <= 0 && top.length <= 2));
      const streamed = await backends.openai().chat.completions.stream(asked).finalChatCompletion();
      assert.equal(streamed.choices[0]?.logprobs?.content?.length, tokens.length);
    });

    it('calls the required tool, streamed and not', async () => {
      const tooling = { tools: [paint], tool_choice: 'required' as const, parallel_tool_calls: false };
      const asked = { model, messages, max_tokens: 400, ...tooling };
      const whole = await backends.openai().chat.completions.create(asked);
      const streamed = await backends.openai().chat.completions.stream(asked).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        assert.equal(choices[0]?.finish_reason, 'tool_calls');
        const [call, ...more] = choices[0]?.message.tool_calls ?? [];
        assert.ok(call?.type === 'function' && more.length === 0);
        assert.ok(call.id.length > 0);
        assert.equal(call.function.name, 'paint');
        assertPaints(JSON.parse(call.function.arguments));
      }
    });

    it('returns JSON of a schema', async () => {
      const answer = await backends.openai().chat.completions.create({
        model,
        messages,
        max_tokens: 400,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'paint', strict: true, schema: paint.function.parameters },
        },
      });
      assert.equal(answer.choices[0]?.finish_reason, 'stop');
      assertPaints(JSON.parse(answer.choices[0]?.message.content ?? ''));
    });

    it('returns a JSON object on request', async () => {
      const answer = await backends.openai().chat.completions.create({
        model,
        messages: [...messages, { role: 'user', content: 'Answer in JSON.' }],
        max_tokens: 200,
        response_format: { type: 'json_object' },
      });
      const [choice] = answer.choices;
      assert.match(choice?.message.content ?? '', /^\s*\{/);
      if (choice?.finish_reason === 'stop') assert.equal(typeof JSON.parse(choice.message.content ?? ''), 'object');
    });
  });
}

/** A bounded schema, so that any model terminates. */
const paint = {
  type: 'function' as const,
  function: {
    name: 'paint',
    description: 'Paints the wall.',
    parameters: {
      type: 'object',
      properties: { colour: { type: 'string', enum: ['red', 'green'] }, twice: { type: 'boolean' } },
      required: ['colour', 'twice'],
      additionalProperties: false,
    },
  },
};

function assertPaints(value: { colour: string; twice: boolean }): void {
  assert.deepEqual(Object.keys(value).toSorted(), ['colour', 'twice']);
  assert.ok(['red', 'green'].includes(value.colour));
  assert.equal(typeof value.twice, 'boolean');
}

describe('openai: models', () => {
  it('are listed with those of the operator, and can be iterated', async () => {
    const ids: string[] = [];
    for await (const { id, object } of backends.openai().models.list()) {
      assert.equal(object, 'model');
      ids.push(id);
    }
    assert.ok(ids.includes(MODELS.bundled) && ids.includes(MODELS.upstream));
    assert.equal(new Set(ids).size, ids.length);
  });

  it('report the backend of an id', async () => {
    const client = backends.openai();
    const bundled = (await client.models.retrieve(MODELS.bundled)) as OpenAI.Model & { backend: { engine: string } };
    const upstream = (await client.models.retrieve(MODELS.upstream)) as typeof bundled;
    assert.equal(bundled.id, MODELS.bundled);
    assert.equal(bundled.backend.engine, 'bundled');
    assert.equal(upstream.backend.engine, 'upstream');
  });
});
