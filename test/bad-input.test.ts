import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useApi } from './harness.ts';

/** A value that a field must reject, and the expected `param` if it is not the field itself. */
type Bad = readonly [value: unknown, param?: string, code?: string];

const LONE_SURROGATE = 'a\ud800b';

/** Nested JSON arrays, too deep for the stack of a serializer. */
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

const numbers = (low: number, high: number): readonly Bad[] => [
  ['1'],
  [true],
  [[]],
  [{}],
  [low - 0.001],
  [high + 0.001],
  [1e308],
  [-1e308],
];
const integers = (low: number, high: number): readonly Bad[] => [['1'], [1.5], [true], [[1]], [low - 1], [high + 1]];

const SHARED: Readonly<Record<string, readonly Bad[]>> = {
  model: [
    [null],
    [1],
    [''],
    [[]],
    [{}],
    [LONE_SURROGATE],
    ['no-such', 'model', 'model_not_found'],
    ['x'.repeat(1e6), 'model', 'model_not_found'],
  ],
  temperature: numbers(0, 2),
  top_p: numbers(0, 1),
  n: integers(1, 16),
  stream: [['true'], [1], [[]]],
  stream_options: [[true], ['x'], [[]], [{ include_usage: 'yes' }, 'stream_options.include_usage']],
  stop: [
    [1],
    [''],
    [{}],
    [[1], 'stop.0'],
    [['a', ''], 'stop.1'],
    [['a', 'b', 'c', 'd', 'e']],
    [['a', null], 'stop.1'],
    [LONE_SURROGATE],
    [['a', LONE_SURROGATE], 'stop.1'],
  ],
  presence_penalty: numbers(-2, 2),
  frequency_penalty: numbers(-2, 2),
  seed: [['1'], [1.5], [1e20], [-1e20], [true]],
  logit_bias: [[[]], ['x'], [{ 1: 101 }, 'logit_bias.1'], [{ 1: '2' }, 'logit_bias.1'], [{ hello: 1 }], [{ '-1': 1 }]],
  user: [[1], [LONE_SURROGATE]],
};

const message = (fields: object) => [{ role: 'user', content: 'Hi' }, fields];
const tool = (fields: object) => [{ type: 'function', function: { name: 'f', ...fields } }];

const CHAT: Readonly<Record<string, readonly Bad[]>> = {
  ...SHARED,
  messages: [
    [null],
    ['Hi'],
    [{}],
    [[]],
    [[null], 'messages.0'],
    [['Hi'], 'messages.0'],
    [[[]], 'messages.0'],
    [[{}], 'messages.0.role', 'missing_required_field'],
    [[{ role: 'user' }], 'messages.0.content', 'missing_required_field'],
    [[{ role: 'user', content: null }], 'messages.0.content'],
    [[{ role: 'user', content: 1 }], 'messages.0.content'],
    [[{ role: 'user', content: {} }], 'messages.0.content'],
    [[{ role: 'robot', content: 'Hi' }], 'messages.0.role'],
    [[{ role: null, content: 'Hi' }], 'messages.0.role'],
    [[{ role: 'user', content: LONE_SURROGATE }], 'messages.0.content'],
    [[{ role: 'user', content: [1] }], 'messages.0.content.0'],
    [[{ role: 'user', content: [{}] }], 'messages.0.content.0.type', 'missing_required_field'],
    [[{ role: 'user', content: [{ type: 'text' }] }], 'messages.0.content.0.text', 'missing_required_field'],
    [[{ role: 'user', content: [{ type: 'text', text: 3 }] }], 'messages.0.content.0.text'],
    [
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: {} },
          ],
        },
      ],
      'messages.0.content.1',
    ],
    [[{ role: 'user', content: [{ type: 'input_audio' }] }], 'messages.0.content.0'],
    [message({ role: 'tool', content: 'x' }), 'messages.1.tool_call_id', 'missing_required_field'],
    [message({ role: 'tool', content: 'x', tool_call_id: 1 }), 'messages.1.tool_call_id'],
    [message({ role: 'assistant' }), 'messages.1.content', 'missing_required_field'],
    [message({ role: 'assistant', content: null, tool_calls: {} }), 'messages.1.tool_calls'],
    [message({ role: 'assistant', content: null, tool_calls: [] }), 'messages.1.content'],
    [
      message({ role: 'assistant', tool_calls: [{ id: 'c' }] }),
      'messages.1.tool_calls.0.function',
      'missing_required_field',
    ],
    [
      message({ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: {} } }] }),
      'messages.1.tool_calls.0.function.arguments',
    ],
    [
      message({ role: 'user', content: 'x', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '' } }] }),
      'messages.1.tool_calls',
    ],
    [message({ role: 'user', content: 'x', name: 1 }), 'messages.1.name'],
  ],
  max_tokens: [['1'], [1.5], [0], [-1], [true]],
  max_completion_tokens: [['1'], [0], [2.5]],
  tools: [
    [{}],
    ['x'],
    [[1], 'tools.0'],
    [[{}], 'tools.0.type', 'missing_required_field'],
    [[{ type: 'function' }], 'tools.0.function', 'missing_required_field'],
    [[{ type: 'retrieval', function: { name: 'f' } }], 'tools.0.type'],
    [[{ type: 'function', function: {} }], 'tools.0.function.name', 'missing_required_field'],
    [tool({ name: 'with space' }), 'tools.0.function.name'],
    [tool({ name: 'x'.repeat(65) }), 'tools.0.function.name'],
    [tool({ description: 1 }), 'tools.0.function.description'],
    [tool({ parameters: [] }), 'tools.0.function.parameters'],
    [
      tool({ parameters: { type: 'object', properties: { a: { description: LONE_SURROGATE } } } }),
      'tools.0.function.parameters.properties.a.description',
    ],
    [[...tool({}), ...tool({})], 'tools.1.function.name'],
    [Array.from({ length: 129 }, (_, at) => ({ type: 'function', function: { name: `f${at}` } }))],
  ],
  tool_choice: [['sometimes'], [1], ['required'], [{ type: 'function', function: { name: 'f' } }, 'tool_choice']],
  parallel_tool_calls: [['x'], [1]],
  response_format: [
    ['json'],
    [{}, 'response_format.type', 'missing_required_field'],
    [{ type: 'xml' }, 'response_format.type'],
    [{ type: 'json_schema' }, 'response_format.json_schema', 'missing_required_field'],
    [{ type: 'json_schema', json_schema: {} }, 'response_format.json_schema.name', 'missing_required_field'],
    [{ type: 'json_schema', json_schema: { name: 'x y', schema: {} } }, 'response_format.json_schema.name'],
    [
      { type: 'json_schema', json_schema: { name: 'x' } },
      'response_format.json_schema.schema',
      'missing_required_field',
    ],
    [{ type: 'json_schema', json_schema: { name: 'x', schema: [] } }, 'response_format.json_schema.schema'],
  ],
  logprobs: [['x'], [1]],
  top_logprobs: [[1.5], [-1], [21], ['1'], [3]],
  knowledge_bases: [
    ['kb_x'],
    [[1], 'knowledge_bases.0'],
    [['kb_nothing'], 'knowledge_bases.0', 'knowledge_base_not_found'],
  ],
  functions: [
    [[]],
    [[{}], 'functions.0.name', 'missing_required_field'],
    [[{ name: 'with space' }], 'functions.0.name'],
  ],
  function_call: [['required'], [{}, 'function_call.name', 'missing_required_field'], [{ name: 'f' }, 'tool_choice']],
};

const COMPLETIONS: Readonly<Record<string, readonly Bad[]>> = {
  ...SHARED,
  prompt: [
    [null],
    [1],
    [{}],
    [[]],
    [[1, 2], 'prompt.0'],
    [['a', null], 'prompt.1'],
    [LONE_SURROGATE],
    [['a', LONE_SURROGATE], 'prompt.1'],
    [Array.from({ length: 129 }, () => 'x')],
  ],
  max_tokens: [['1'], [1.5], [-1]],
  logprobs: [...integers(0, 5)],
  suffix: [[1], [[]], ['text']],
  echo: [['x'], [1]],
  best_of: integers(0, 16),
};

/** Values that every field must accept, so that the table cannot pass by rejecting everything. */
const GOOD = {
  chat: [
    { temperature: 0, top_p: 1, n: 1, presence_penalty: -2, frequency_penalty: 2, seed: 0, max_tokens: 1 },
    {
      temperature: 2,
      n: 16,
      stop: ['a', 'b', 'c', 'd'],
      logit_bias: { 1: -100, 2: 100 },
      logprobs: true,
      top_logprobs: 20,
    },
    {
      temperature: null,
      top_p: null,
      n: null,
      stop: null,
      seed: null,
      stream: null,
      logit_bias: null,
      max_tokens: null,
      user: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      knowledge_bases: null,
    },
    { max_tokens: 1e15, unknown_field: { nested: true }, user: 'x'.repeat(100_000), response_format: { type: 'text' } },
    { tools: tool({ parameters: { type: 'object' } }), tool_choice: { type: 'function', function: { name: 'f' } } },
    { tools: [], tool_choice: 'auto', knowledge_bases: [], top_p: 0 },
  ],
  completions: [
    { max_tokens: 1, logprobs: 0, best_of: 1, suffix: '', stop: '\n' },
    { max_tokens: 0, best_of: 0, top_p: 0, user: null },
    { logprobs: 5, best_of: 16, n: 16, temperature: null, echo: false, suffix: null, best_of_: 3 },
  ],
};

describe('bad input', () => {
  const api = useApi();
  const routes = {
    chat: {
      path: '/v1/chat/completions',
      body: { model: 'general-8b', messages: [{ role: 'user', content: 'Hi' }] },
      table: CHAT,
    },
    completions: { path: '/v1/completions', body: { model: 'general-8b', prompt: 'Hi' }, table: COMPLETIONS },
  } as const;

  for (const [name, { path, body, table }] of Object.entries(routes)) {
    for (const [field, bads] of Object.entries<readonly Bad[]>(table)) {
      it(`${name}: 400 or 404 naming ${field} for each of ${bads.length} wrong values`, async () => {
        for (const [value, param = field, code = 'invalid_value'] of bads) {
          const answer = await api.send('POST', path, { body: { ...body, [field]: value } });
          const shown = `${JSON.stringify(value).slice(0, 100)} -> ${answer.status} ${answer.text.slice(0, 300)}`;
          assert.ok(answer.status === 400 || answer.status === 404, shown);
          assert.deepEqual([answer.json?.error.param, answer.json?.error.code], [param, code], shown);
          assert.ok(answer.text.length < 2_000, 'an error does not echo megabytes');
        }
      });
    }

    it(`${name}: 400 missing_required_field naming what is left out`, async () => {
      for (const field of Object.keys(body)) {
        const answer = await api.send('POST', path, { body: { ...body, [field]: undefined } });
        assert.deepEqual(
          [answer.status, answer.json.error.param, answer.json.error.code],
          [400, field, 'missing_required_field'],
        );
      }
    });

    it(`${name}: 200 for values just in range, nulls of optional fields, and unknown fields`, async () => {
      for (const fields of GOOD[name as keyof typeof GOOD]) {
        const answer = await api.send('POST', path, { body: { ...body, ...fields } });
        assert.equal(answer.status, 200, `${JSON.stringify(fields).slice(0, 200)} -> ${answer.text.slice(0, 300)}`);
      }
    });

    it(`${name}: 400 naming the field for nesting that would overflow a stack`, async () => {
      const text = JSON.stringify(body).slice(0, -1);
      for (const levels of [130, 40_000]) {
        const answer = await api.send('POST', path, { body: `${text},"unknown":${deep(levels)}}` });
        assert.deepEqual([answer.status, answer.json.error.param], [400, 'unknown'], answer.text.slice(0, 200));
      }
      assert.equal((await api.send('POST', path, { body: `${text},"unknown":${deep(100)}}` })).status, 200);
    });

    it(`${name}: 400 for names with lone surrogates and for __proto__ at any depth`, async () => {
      const text = JSON.stringify(body).slice(0, -1);
      const surrogate = await api.send('POST', path, { body: `${text},"metadata":{"\\ud800":1}}` });
      assert.equal(surrogate.status, 400);
      assert.equal(surrogate.json.error.code, 'invalid_value');
      const proto = await api.send('POST', path, { body: `${text},"metadata":{"a":{"__proto__":{"x":1}}}}` });
      assert.deepEqual([proto.status, proto.json.error.param], [400, 'metadata.a.__proto__']);
    });
  }
});
