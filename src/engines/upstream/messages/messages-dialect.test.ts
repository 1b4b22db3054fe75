import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { chatRequest, collectGeneration } from '../../../../test/engine-conformance.ts';
import {
  blockEvents,
  type MessageEnding,
  type ResponseBlock,
  respondWithMessage,
  sendMessageError,
  sendMessageEvents,
  startMessages,
} from '../../../../test/fixtures/messages-server.ts';
import { type Handler, sendJson } from '../../../../test/fixtures/upstream-server.ts';
import { AWKWARD_TEXTS } from '../../../../test/support/awkward.ts';
import { ApiError } from '../../../errors.ts';
import type { ChatPrompt, GenerationRequest } from '../../engine.ts';

const never = new AbortController().signal;
const text = (value: string): ResponseBlock => ({ type: 'text', text: value });
const hello = respondWithMessage([text('Hello.')]);
const CITY_SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const asJson = { type: 'json_schema', name: 'place', strict: true, schema: CITY_SCHEMA } as const;

const isError = (status: number, code: string, param: string | null) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.deepEqual([error.status, error.code, error.param], [status, code, param], error.message);
  return true;
};

describe('responses of a server of Anthropic Messages', () => {
  const both = async (t: TestContext, blocks: ResponseBlock[], ending: MessageEnding, request: GenerationRequest) => {
    const { engine } = await startMessages(t, respondWithMessage(blocks, ending));
    const streamed = await collectGeneration(engine, { ...request, incremental: true });
    const { promptTokens: _, ...whole } = await collectGeneration(engine, { ...request, incremental: false });
    const comparable = ({ choices, usage }: typeof whole) => ({
      choices: choices.map((c) => ({ ...c, tokens: 0 })),
      usage,
    });
    assert.deepEqual(comparable(streamed), comparable(whole), 'streamed and whole responses are equal');
    return streamed;
  };

  it('have their text, and usage with cached tokens as part of the prompt', async (t) => {
    for (const awkward of AWKWARD_TEXTS) {
      const usage = {
        input_tokens: 10,
        cache_creation_input_tokens: 5,
        cache_read_input_tokens: 85,
        output_tokens: 99_999,
      };
      const request = chatRequest('Hi', { maxTokens: null });
      const made = await both(t, [text(awkward), text('!')], { usage }, request);
      assert.equal(made.choices[0]?.text, `${awkward.toWellFormed()}!`);
      assert.equal(made.promptTokens, 100);
      assert.deepEqual(made.usage, { promptTokens: 100, cachedTokens: 85, completionTokens: 99_999 });
    }
  });

  it('have parallel tool calls, with an empty object for no arguments', async (t) => {
    const blocks: ResponseBlock[] = [
      text('Let me look.'),
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'São "Paulo"' } },
      { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
    ];
    const usage = { input_tokens: 10, output_tokens: 24 };
    const { choices } = await both(t, blocks, { usage }, chatRequest('Hi'));
    assert.equal(choices[0]?.reason, 'tool_calls');
    assert.deepEqual(choices[0]?.calls, [
      { id: 'toolu_1', name: 'look', arguments: '{"city":"São \\"Paulo\\""}' },
      { id: 'toolu_2', name: 'now', arguments: '{}' },
    ]);
  });

  it('end with the reason of the server', async (t) => {
    const reasons = {
      ...{ end_turn: 'stop', max_tokens: 'length', model_context_window_exceeded: 'length', refusal: 'content_filter' },
      ...{ stop_sequence: 'stop', pause_turn: 'stop' },
    };
    for (const [stop_reason, expected] of Object.entries(reasons)) {
      const { choices } = await both(t, [text('a')], { stop_reason }, chatRequest('Hi'));
      assert.equal(choices[0]?.reason, expected, stop_reason);
    }
  });

  it('name the stop sequence that ended them', async (t) => {
    const ending = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    const { engine } = await startMessages(t, respondWithMessage([text('a')], ending));
    for (const incremental of [true, false]) {
      const events = await Array.fromAsync(engine.generate(chatRequest('Hi', { stop: ['END'], incremental }), never));
      assert.deepEqual(
        events.filter(({ type }) => type === 'choice-end'),
        [{ type: 'choice-end', choice: 0, reason: 'stop', stopSequence: 'END' }],
      );
    }
  });

  it('have JSON of the schema, by output_config or by a forced tool where the model rejects it', async (t) => {
    const handle: Handler = (request, response, count) => {
      if (request.body?.['output_config'] !== undefined)
        return sendMessageError(response, 400, 'output_config.format: not supported');
      const { tools, tool_choice } = request.body as {
        tools: { name: string; input_schema: object }[];
        tool_choice: object;
      };
      assert.deepEqual(tool_choice, { type: 'tool', name: tools[0]?.name, disable_parallel_tool_use: true });
      assert.deepEqual(tools[0]?.input_schema, CITY_SCHEMA);
      const call = { type: 'tool_use' as const, id: 'toolu_1', name: tools[0]!.name, input: { city: 'Rome' } };
      return respondWithMessage([call])(request, response, count);
    };
    const older = await startMessages(t, handle);
    const newer = await startMessages(t, respondWithMessage([text('{"city":"Rome"}')]));
    for (const { engine, posts } of [older, newer]) {
      for (const incremental of [true, false]) {
        const { choices } = await collectGeneration(engine, chatRequest('Hi', { format: asJson, incremental }));
        const { text: json, reason, calls } = choices[0]!;
        assert.deepEqual([JSON.parse(json), reason, calls], [{ city: 'Rome' }, 'stop', []]);
      }
      assert.deepEqual(posts()[0]?.body?.['output_config'], { format: { type: 'json_schema', schema: CITY_SCHEMA } });
    }
    assert.deepEqual([older.posts().length, newer.posts().length], [4, 2]);
  });

  it('have any JSON object by a forced tool', async (t) => {
    const input = { fox: 'quick "fox"' };
    const { engine, posts } = await startMessages(
      t,
      respondWithMessage([{ type: 'tool_use', id: 'toolu_1', name: 'respond_with_json', input }]),
    );
    for (const incremental of [true, false]) {
      const request = chatRequest('Hi', { format: { type: 'json_object' }, incremental });
      const { choices } = await collectGeneration(engine, request);
      assert.deepEqual([JSON.parse(choices[0]!.text), choices[0]!.reason], [input, 'stop']);
    }
    assert.deepEqual(posts()[0]?.body?.['tool_choice'], {
      ...{ type: 'tool', name: 'respond_with_json', disable_parallel_tool_use: true },
    });
  });

  it('keep a tool of the caller that has the name of the tool for JSON', async (t) => {
    const call: ResponseBlock = { type: 'tool_use', id: 'toolu_1', name: 'respond_with_json', input: {} };
    const { choices } = await both(t, [call], {}, chatRequest('Hi'));
    assert.equal(choices[0]?.calls[0]?.name, 'respond_with_json');
  });

  it('with zeros at the start of a stream have the counts of its end', async (t) => {
    const { engine } = await startMessages(t, (_request, response) => {
      sendMessageEvents(response, [
        { type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 0 } } },
        ...blockEvents(text('Hi.') as { type: 'text'; text: string }, 0),
        {
          type: 'message_delta',
          ...{
            delta: { stop_reason: 'end_turn' },
            usage: { input_tokens: 12, output_tokens: 3, cache_read_input_tokens: null },
          },
        },
        { type: 'message_stop' },
      ]);
      response.end();
    });
    const { promptTokens, usage } = await collectGeneration(engine, chatRequest('Hi'));
    assert.deepEqual([promptTokens, usage], [null, { promptTokens: 12, cachedTokens: 0, completionTokens: 3 }]);
  });

  it('keep the counts of the start that the end has as null, and end while the connection stays open', async (t) => {
    const { engine } = await startMessages(t, (_request, response) => {
      const usage = { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 };
      const end = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 9 };
      sendMessageEvents(response, [
        { type: 'message_start', message: { usage } },
        ...blockEvents(text('Hi.'), 0),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: end },
        { type: 'message_stop' },
      ]);
    });
    const { usage } = await collectGeneration(engine, chatRequest('Hi'));
    assert.deepEqual(usage, { promptTokens: 100, cachedTokens: 90, completionTokens: 9 });
  });
});

describe('failures of a server of Anthropic Messages', () => {
  /** Fails with an error first, then responds. */
  const failingOnce =
    (status: number, message = 'No.'): Handler =>
    (request, response, count) =>
      count === 0 ? sendMessageError(response, status, message) : hello(request, response, count);

  it('that pass are retried', async (t) => {
    for (const status of [529, 429, 503]) {
      const { engine, posts } = await startMessages(t, failingOnce(status));
      await collectGeneration(engine, chatRequest('Hi'));
      assert.equal(posts().length, 2, `${status}`);
    }
  });

  it('name the time to wait and are not the fault of the server when it is overloaded', async (t) => {
    for (const status of [529, 429]) {
      const { engine, posts } = await startMessages(t, (_request, response) =>
        sendMessageError(response, status, 'Overloaded', { 'retry-after': '30' }),
      );
      await assert.rejects(engine.generate(chatRequest('Hi'), never).next(), (error: ApiError) => {
        isError(503, 'engine_unavailable', null)(error);
        assert.equal(error.retryAfterSeconds, 30);
        return true;
      });
      assert.equal(posts().length, 1);
      assert.equal(engine.servers?.()[0]?.lastError, null);
    }
  });

  it('in the request are 400 with the message of the server, without the key', async (t) => {
    const { engine } = await startMessages(t, (_request, response) =>
      sendMessageError(response, 400, 'stop_sequences: each must contain text (sk-ant-1)'),
    );
    await assert.rejects(engine.generate(chatRequest('Hi'), never).next(), (error: ApiError) => {
      isError(400, 'invalid_value', null)(error);
      assert.match(error.message, /stop_sequences: each must contain text \(\[key\]\)/);
      return true;
    });
  });

  it('of the key and the model are 503 for the operator', async (t) => {
    for (const status of [401, 403, 404]) {
      const { engine } = await startMessages(t, failingOnce(status));
      await assert.rejects(
        engine.generate(chatRequest('Hi'), never).next(),
        isError(503, 'engine_unavailable', null),
        `${status}`,
      );
    }
  });

  it('of a prompt that is too long are context_length_exceeded', async (t) => {
    const { engine } = await startMessages(t, failingOnce(400, 'prompt is too long: 210000 tokens > 200000 maximum'));
    await assert.rejects(engine.generate(chatRequest('Hi'), never).next(), (error: ApiError) => {
      isError(400, 'context_length_exceeded', 'messages')(error);
      assert.match(error.message, /200000 tokens, but your messages has 210000/);
      return true;
    });
  });

  it('of max_tokens are repeated with the tokens that the server accepts', async (t) => {
    const messages = {
      'max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-test': 4096,
      'input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length': 5000,
    };
    for (const [message, expected] of Object.entries(messages)) {
      for (const maxTokens of [null, 8192]) {
        const { engine, posts } = await startMessages(t, failingOnce(400, message));
        await collectGeneration(engine, chatRequest('Hi', { maxTokens }));
        assert.deepEqual(
          posts().map(({ body }) => body?.['max_tokens']),
          [8192, expected],
        );
      }
    }
  });

  it('within a stream end it after the text before them', async (t) => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const begin = [
      { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
      ...blockEvents(text('Once.') as { type: 'text'; text: string }, 0),
    ];
    const endings: Handler[] = [
      (_request, response) => sendMessageEvents(response, [...begin, error]),
      (_request, response) => {
        sendMessageEvents(response, begin);
        response.end();
      },
      (_request, response) => {
        sendMessageEvents(response, begin);
        setImmediate(() => response.destroy());
      },
    ];
    for (const handle of endings) {
      const { engine, posts } = await startMessages(t, handle);
      const texts: string[] = [];
      const read = async () => {
        for await (const event of engine.generate(chatRequest('Hi'), never))
          if (event.type === 'text-delta') texts.push(event.text);
      };
      await assert.rejects(read(), isError(503, 'engine_unavailable', null));
      assert.deepEqual([texts.join(''), posts().length], ['Once.', 1]);
    }
  });

  it('after the reason of the end are none', async (t) => {
    const { engine } = await startMessages(t, (_request, response) => {
      sendMessageEvents(response, [
        { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
        ...blockEvents(text('Once.') as { type: 'text'; text: string }, 0),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      ]);
      setImmediate(() => response.destroy());
    });
    const { choices, usage } = await collectGeneration(engine, chatRequest('Hi'));
    assert.deepEqual([choices[0]?.text, usage.promptTokens, usage.completionTokens], ['Once.', 3, 3]);
  });

  it('of the caller to stay end the request at the server', async (t) => {
    const { engine, server } = await startMessages(t, (_request, response) =>
      sendMessageEvents(response, [{ type: 'message_start' }, { type: 'ping' }]),
    );
    const events = engine.generate(chatRequest('Hi'), never);
    const pending = events.next();
    await pending;
    await events.return();
    await server.left(1);
  });
});

describe('models of a server of Anthropic Messages', () => {
  it('report their context and the maximum of max_tokens, which requests without one get', async (t) => {
    const info = { type: 'model', id: 'the-model', max_input_tokens: 200_000, max_tokens: 64_000 };
    const { engine, server, posts } = await startMessages(t, hello, info);
    await engine.check(never);
    assert.equal(server.requests[0]?.path, '/v1/models/the-model');
    assert.equal(server.requests[0]?.headers['x-api-key'], 'sk-ant-1');
    assert.deepEqual([engine.contextLength(), engine.backend().ready], [200_000, true]);
    await collectGeneration(engine, chatRequest('Hi', { maxTokens: null }));
    assert.equal(posts()[0]?.body?.['max_tokens'], 64_000);
  });

  it('are ready where the server does not describe them', async (t) => {
    const { engine } = await startMessages(t, hello);
    await engine.check(never);
    assert.deepEqual([engine.contextLength(), engine.backend().ready], [null, true]);
  });

  it('count the tokens of a prompt; null where the server does not', async (t) => {
    const counting = await startMessages(t, (_request, response) => sendJson(response, 200, { input_tokens: 42 }));
    const request = chatRequest('Hi').prompt as ChatPrompt;
    assert.equal(await counting.engine.countTokens?.(request, 'org', never), 42);
    const [post] = counting.posts();
    assert.equal(post?.path, '/v1/messages/count_tokens');
    assert.deepEqual(Object.keys(post?.body ?? {}), ['model', 'messages']);
    const other = await startMessages(t, (_request, response) => sendMessageError(response, 404, 'No.'));
    assert.equal(await other.engine.countTokens?.(request, 'org', never), null);
  });

  it('tell whether schemas are enforced', async (t) => {
    const enforcing = await startMessages(t, respondWithMessage([text('{"k7":"qv-4417"}')]));
    assert.equal(await enforcing.engine.enforcesSchemas?.(never), true);
    const { engine } = await startMessages(t, hello);
    assert.equal(await engine.enforcesSchemas?.(never), false);
  });
});
