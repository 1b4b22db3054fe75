import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type CollectedGeneration,
  chatRequest,
  collectGeneration,
  textRequest,
} from '../../../test/engine-conformance.ts';
import {
  chunk,
  finish,
  respondWithBody,
  respondWithStream,
  scripted,
  usage,
} from '../../../test/fixtures/scripted-upstream.ts';
import type { ChatPrompt, GenerationRequest } from '../engine.ts';

interface Case {
  name: string;
  events: unknown[];
  request?: Partial<GenerationRequest>;
  text?: string;
  reasoning?: string;
  calls?: [name: string, args: string][];
  reason?: string;
  usage?: [prompt: number, cached: number, completion: number];
}

const call = (fields: object) => chunk({ tool_calls: [fields] });
const fn = (name: string | undefined, args?: unknown) => ({ function: { name, arguments: args } });

const CASES: Case[] = [
  {
    name: 'a refusal instead of content',
    events: [chunk({ refusal: 'I will' }), chunk({ content: null, refusal: ' not.' }), finish('stop'), '[DONE]'],
    text: 'I will not.',
  },
  {
    name: 'no usage: deltas are counted, the prompt estimated',
    events: [chunk({ role: 'assistant' }), chunk({ content: 'a' }), chunk({ content: 'b' }), finish('stop'), '[DONE]'],
    text: 'ab',
    usage: [6, 0, 2],
  },
  {
    name: 'usage in a chunk without choices',
    events: [
      chunk({ content: 'a' }),
      finish('stop'),
      usage(9, 5, { prompt_tokens_details: { cached_tokens: 4 } }),
      '[DONE]',
    ],
    usage: [9, 4, 5],
  },
  {
    name: 'usage in the last chunk with a choice, null before',
    events: [{ ...chunk({ content: 'a' }), usage: null }, { ...finish('stop'), usage: usage(9, 5).usage }, '[DONE]'],
    usage: [9, 0, 5],
  },
  {
    name: 'more cached tokens than the prompt has',
    events: [
      chunk({ content: 'a' }),
      finish('stop'),
      usage(9, 5, { prompt_tokens_details: { cached_tokens: 40 } }),
      '[DONE]',
    ],
    usage: [9, 9, 5],
  },
  {
    name: 'prompt_tokens_details null',
    events: [chunk({ content: 'a' }), finish('stop'), usage(9, 5, { prompt_tokens_details: null }), '[DONE]'],
    usage: [9, 0, 5],
  },
  {
    name: "llama-server's timings in place of usage",
    events: [
      chunk({ content: 'a' }),
      { ...finish('stop'), timings: { cache_n: 3, prompt_n: 4, predicted_n: 2 } },
      '[DONE]',
    ],
    usage: [7, 3, 2],
  },
  {
    name: 'tool_calls and other fields null, content null and empty',
    events: [
      chunk({
        role: 'assistant',
        content: null,
        tool_calls: null,
        refusal: null,
        reasoning_content: null,
        function_call: null,
      }),
      chunk({ content: '', tool_calls: null }),
      chunk({ content: 'a', tool_calls: [] }),
      finish('stop', { content: null }),
      '[DONE]',
    ],
    text: 'a',
  },
  {
    name: 'choices without an index',
    events: [{ choices: [{ delta: { content: 'a' } }] }, { choices: [{ delta: {}, finish_reason: 'stop' }] }, '[DONE]'],
  },
  { name: 'a finish reason of "eos"', events: [chunk({ content: 'a' }), finish('eos'), '[DONE]'] },
  { name: 'a finish reason of "eos_token"', events: [chunk({ content: 'a' }), finish('eos_token'), '[DONE]'] },
  { name: 'no finish reason', events: [chunk({ content: 'a' }), '[DONE]'] },
  {
    name: 'no finish reason, as many tokens as were allowed',
    events: [chunk({ content: 'a' }), chunk({ content: 'b' }), '[DONE]'],
    request: { maxTokens: 2 },
    text: 'ab',
    reason: 'length',
  },
  {
    name: 'a content filter',
    events: [chunk({ content: 'a' }), finish('content_filter'), '[DONE]'],
    reason: 'content_filter',
  },
  { name: 'no [DONE], a finish reason', events: [chunk({ content: 'a' }), finish('stop')] },
  {
    name: 'content after the finish reason',
    events: [chunk({ content: 'a' }), finish('stop'), chunk({ content: 'b' }), '[DONE]'],
    text: 'ab',
  },
  {
    name: 'the finish reason beside content',
    events: [finish('length', { content: 'a' }), '[DONE]'],
    reason: 'length',
  },
  {
    name: 'reasoning_content',
    events: [chunk({ reasoning_content: 'hm' }), chunk({ content: 'a' }), finish('stop'), '[DONE]'],
    reasoning: 'hm',
  },
  {
    name: 'reasoning',
    events: [chunk({ reasoning: 'hm' }), chunk({ content: 'a' }), finish('stop'), '[DONE]'],
    reasoning: 'hm',
  },
  {
    name: 'the same thinking under both names',
    events: [chunk({ reasoning: 'hm', reasoning_content: 'hm' }), chunk({ content: 'a' }), finish('stop'), '[DONE]'],
    reasoning: 'hm',
  },
  { name: 'content in parts', events: [chunk({ content: [{ type: 'text', text: 'a' }] }), finish('stop'), '[DONE]'] },
  {
    name: 'half of a surrogate pair at the end of a delta',
    events: [chunk({ content: 'a\ud83d' }), chunk({ content: '\ude00b' }), finish('stop'), '[DONE]'],
    text: 'a😀b',
  },
  {
    name: 'half of a surrogate pair at the end of all',
    events: [chunk({ content: 'a\ud83d' }), finish('stop'), '[DONE]'],
    text: 'a\ufffd',
  },
  {
    name: 'choices that nobody asked for',
    events: [chunk({ content: 'a' }), { choices: [{ index: 5, delta: { content: 'x' } }] }, finish('stop'), '[DONE]'],
  },
  {
    name: 'chunks that are no objects',
    events: [
      'null',
      '1',
      '""',
      chunk({ content: 'a' }),
      '{"choices":null}',
      '{"choices":[null]}',
      finish('stop'),
      '[DONE]',
    ],
  },
  { name: 'events after [DONE]', events: [chunk({ content: 'a' }), finish('stop'), '[DONE]', chunk({ content: 'x' })] },
  {
    name: 'a tool call in pieces, "stop" as its reason',
    events: [
      call({ index: 0, id: 'c1', type: 'function', ...fn('f', '') }),
      call({ index: 0, ...fn(undefined, '{"a"') }),
      call({ index: 0, ...fn(undefined, ':1}') }),
      finish('stop'),
      '[DONE]',
    ],
    calls: [['f', '{"a":1}']],
  },
  {
    name: 'a tool call without type, index and id',
    events: [call(fn('f', '{}')), call(fn('g', '{}')), finish('tool_calls'), '[DONE]'],
    calls: [
      ['f', '{}'],
      ['g', '{}'],
    ],
  },
  {
    name: 'several tool calls in one chunk, without index',
    events: [
      chunk({
        tool_calls: [
          { id: 'a', ...fn('f', '{}') },
          { id: 'b', ...fn('f', '{"x":1}') },
        ],
      }),
      finish('tool_calls'),
      '[DONE]',
    ],
    calls: [
      ['f', '{}'],
      ['f', '{"x":1}'],
    ],
  },
  {
    name: 'several tool calls, all with index 0',
    events: [
      call({ index: 0, id: 'a', ...fn('f', '{}') }),
      call({ index: 0, id: 'b', ...fn('g', '{}') }),
      finish('tool_calls'),
      '[DONE]',
    ],
    calls: [
      ['f', '{}'],
      ['g', '{}'],
    ],
  },
  {
    name: 'pieces of two tool calls, mixed',
    events: [
      call({ index: 0, id: 'a', ...fn('f', '{') }),
      call({ index: 1, id: 'b', ...fn('g', '{') }),
      call({ index: 0, ...fn(undefined, '}') }),
      call({ index: 1, ...fn(undefined, '}') }),
      finish('tool_calls'),
      '[DONE]',
    ],
    calls: [
      ['f', '{}'],
      ['g', '{}'],
    ],
  },
  {
    name: 'arguments null',
    events: [call({ index: 0, id: 'a', ...fn('f', null) }), finish('tool_calls'), '[DONE]'],
    calls: [['f', '{}']],
  },
  {
    name: 'arguments as an object',
    events: [call({ index: 0, id: 'a', ...fn('f', { x: [1] }) }), finish('tool_calls'), '[DONE]'],
    calls: [['f', '{"x":[1]}']],
  },
  {
    name: 'a call without arguments',
    events: [call({ index: 0, id: 'a', function: { name: 'f' } }), finish('tool_calls'), '[DONE]'],
    calls: [['f', '{}']],
  },
  {
    name: 'the name after the id, and arguments between',
    events: [
      call({ index: 0, id: 'a', function: {} }),
      call({ index: 0, ...fn(undefined, '{"x"') }),
      call({ index: 0, ...fn('f', ':1}') }),
      finish('tool_calls'),
      '[DONE]',
    ],
    calls: [['f', '{"x":1}']],
  },
  {
    name: 'the name in every piece',
    events: [
      call({ index: 0, id: 'a', ...fn('f', '{') }),
      call({ index: 0, id: 'a', ...fn('f', '}') }),
      finish('tool_calls'),
      '[DONE]',
    ],
    calls: [['f', '{}']],
  },
  {
    name: 'tool_calls as one object',
    events: [chunk({ tool_calls: { index: 0, id: 'a', ...fn('f', '{}') } }), finish('tool_calls'), '[DONE]'],
    calls: [['f', '{}']],
  },
  {
    name: 'function_call, the form before tools',
    events: [
      chunk({ function_call: { name: 'f', arguments: '' } }),
      chunk({ function_call: { arguments: '{}' } }),
      finish('function_call'),
      '[DONE]',
    ],
    calls: [['f', '{}']],
  },
  { name: 'a reason "tool_calls" without a call', events: [chunk({ content: 'a' }), finish('tool_calls'), '[DONE]'] },
  {
    name: 'a call cut by the limit',
    events: [call({ index: 0, id: 'a', ...fn('f', '{"a":') }), finish('length'), '[DONE]'],
    calls: [['f', '{"a":']],
    reason: 'length',
  },
];

function check(answer: CollectedGeneration, { text, reasoning, calls, reason, usage: counts }: Case): void {
  const choice = answer.choices[0]!;
  assert.equal(choice.text, text ?? (calls ? '' : 'a'));
  assert.equal(choice.reasoning, reasoning ?? '');
  assert.deepEqual(
    choice.calls.map((made) => [made.name, made.arguments]),
    calls ?? [],
  );
  assert.equal(choice.reason, reason ?? (calls ? 'tool_calls' : 'stop'));
  if (!counts) return;
  const [promptTokens, cachedTokens, completionTokens] = counts;
  assert.deepEqual(answer.usage, { promptTokens, cachedTokens, completionTokens });
}

const asked = (request: Partial<GenerationRequest> = {}) => chatRequest('Say a', request);

describe('streams of real servers', () => {
  for (const given of CASES) {
    it(given.name, async (t) => {
      const { engine } = await scripted(t, respondWithStream(...given.events));
      check(await collectGeneration(engine, asked(given.request)), given);
    });
  }

  it('name the stop sequence that ended them, if the request has it', async (t) => {
    for (const [field, value, expected] of [
      ['stop_reason', '\n"', '\n"'],
      ['matched_stop', '\n"', '\n"'],
      ['stop_reason', 128_009, undefined],
      ['stop_reason', 'another', undefined],
    ] as const) {
      const { engine } = await scripted(
        t,
        respondWithStream(chunk({ content: 'a' }), chunk({}, { finish_reason: 'stop', [field]: value }), '[DONE]'),
      );
      const ends = [];
      for await (const event of engine.generate(asked({ stop: ['\n"'] }), new AbortController().signal))
        if (event.type === 'choice-end') ends.push(event.stopSequence);
      assert.deepEqual(ends, [expected]);
    }
  });

  it('comments, CRLF, event names and any fragmentation change nothing', async (t) => {
    const lines = `: ping\r\n\r\nevent: message\r\ndata: ${JSON.stringify(chunk({ content: 'é日😀' }))}\r\n\r\n: ping\r\n\r\ndata: ${JSON.stringify(finish('stop'))}\r\n\r\ndata: [DONE]\r\n\r\n`;
    const { engine } = await scripted(t, async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.socket?.setNoDelay(true);
      for (const byte of Buffer.from(lines)) {
        response.write(Buffer.from([byte]));
        await new Promise(setImmediate);
      }
      response.end();
    });
    check(await collectGeneration(engine, asked()), { name: '', events: [], text: 'é日😀' });
  });

  it('a chunk of megabytes is read', async (t) => {
    const text = 'long '.repeat(400_000);
    const { engine } = await scripted(t, respondWithStream(chunk({ content: text }), finish('stop'), '[DONE]'));
    check(await collectGeneration(engine, asked()), { name: '', events: [], text });
  });

  it('a slow reader pauses the upstream and misses nothing', async (t) => {
    const events = Array.from({ length: 400 }, () => chunk({ content: 'x'.repeat(10_000) }));
    const { engine } = await scripted(t, respondWithStream(...events, finish('stop'), '[DONE]'));
    let length = 0;
    for await (const event of engine.generate(asked(), new AbortController().signal)) {
      if (event.type === 'text-delta') length += event.text.length;
      if (length % 500_000 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.equal(length, 4_000_000);
  });

  it('a call has the id of its fragment, even if it is not the first', async (t) => {
    const segments = [call({ index: 0, function: {} }), call({ index: 0, id: 'first-byte-timeout', ...fn('f', '{}') })];
    const { engine } = await scripted(t, respondWithStream(...segments, finish('tool_calls'), '[DONE]'));
    const [choice] = (await collectGeneration(engine, asked())).choices;
    assert.deepEqual(choice?.calls, [{ id: 'first-byte-timeout', name: 'f', arguments: '{}' }]);
  });

  it('at most one call without parallel calls', async (t) => {
    const calls = [call({ index: 0, id: 'a', ...fn('f', '{}') }), call({ index: 1, id: 'b', ...fn('g', '{}') })];
    const { engine } = await scripted(t, respondWithStream(...calls, finish('tool_calls'), '[DONE]'));
    const prompt = { ...asked().prompt, parallelToolCalls: false } as ChatPrompt;
    check(await collectGeneration(engine, asked({ prompt })), { name: '', events: [], calls: [['f', '{}']] });
  });

  it('log probabilities come with their text, in either format', async (t) => {
    const content = [
      {
        token: 'a',
        logprob: -0.5,
        bytes: [97],
        top_logprobs: [
          { token: 'b', logprob: -1 },
          { token: 'a', logprob: -0.5 },
        ],
      },
    ];
    const legacy = { tokens: ['a'], token_logprobs: [null], top_logprobs: [{ b: -1, a: -0.5 }], text_offset: [0] };
    const chat = await scripted(
      t,
      respondWithStream(chunk({ content: 'a' }, { logprobs: { content } }), finish('stop'), '[DONE]'),
    );
    const answer = await collectGeneration(chat.engine, asked({ logprobs: 2 }));
    const top = [
      { token: 'a', logprob: -0.5, bytes: null },
      { token: 'b', logprob: -1, bytes: null },
    ];
    assert.deepEqual(answer.choices[0]!.logprobs, [{ token: 'a', logprob: -0.5, bytes: [97], top }]);
    const text = await scripted(
      t,
      respondWithStream({ choices: [{ index: 0, text: 'a', logprobs: legacy, finish_reason: 'stop' }] }, '[DONE]'),
    );
    const other = await collectGeneration(text.engine, textRequest('Say', { logprobs: 1 }));
    assert.deepEqual(other.choices[0]!.logprobs, [{ token: 'a', logprob: -9999, bytes: null, top: top.slice(0, 1) }]);
  });
});

describe('whole responses', () => {
  const calls = [
    { id: 'a', ...fn('f', '{"x":1}') },
    { id: 'b', ...fn('g', null) },
  ];
  const message = { role: 'assistant', content: 'Hello there', reasoning_content: 'hm', tool_calls: calls };
  const whole = { choices: [{ index: 0, message, finish_reason: 'stop' }], ...{ usage: usage(9, 7).usage } };
  const streamed = [
    chunk({ reasoning_content: 'hm' }),
    chunk({ content: 'Hello' }),
    chunk({ content: ' there' }),
    ...calls.map(call),
    finish('stop'),
    usage(9, 7),
    '[DONE]',
  ];

  const facts = ({ choices, usage: counts }: CollectedGeneration) => ({
    choices: choices.map(({ tokens: _, ...choice }) => choice),
    counts,
  });

  it('add up to the same as their stream, with tokens distributed over the deltas', async (t) => {
    const stream = await scripted(t, respondWithStream(...streamed));
    const one = await scripted(t, respondWithBody(200, whole));
    const [a, b] = [
      await collectGeneration(stream.engine, asked()),
      await collectGeneration(one.engine, asked({ incremental: false })),
    ];
    assert.deepEqual(facts(b), facts(a));
    assert.equal(b.choices[0]!.tokens, 7);
    assert.equal(b.promptTokens, 9);
  });

  it('are accepted where a stream was requested, and vice versa', async (t) => {
    const one = await scripted(t, respondWithBody(200, whole, { 'content-type': 'text/plain' }));
    const stream = await scripted(t, respondWithStream(...streamed));
    const [a, b] = [
      await collectGeneration(one.engine, asked()),
      await collectGeneration(stream.engine, asked({ incremental: false })),
    ];
    assert.deepEqual(facts(a), facts(b));
  });

  it('may come after blank lines that keep the connection alive', async (t) => {
    const { engine } = await scripted(t, async (_request, response) => {
      response.write('\n\n');
      await new Promise((resolve) => setTimeout(resolve, 2));
      response.end(`\n${JSON.stringify(whole)}`);
    });
    assert.equal((await collectGeneration(engine, asked({ incremental: false }))).choices[0]!.text, 'Hello there');
  });

  it('without usage are counted by their length', async (t) => {
    const { engine } = await scripted(
      t,
      respondWithBody(200, { choices: [{ text: 'twelve chars', finish_reason: 'stop' }] }),
    );
    const answer = await collectGeneration(engine, textRequest('Say something', { incremental: false }));
    assert.deepEqual(answer.usage, { promptTokens: 4, cachedTokens: 0, completionTokens: 3 });
  });
});
