import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { chatRequest, collectGeneration, textRequest } from '../../../../test/engine-conformance.ts';
import {
  type ResponseBlock,
  respondWithMessage,
  sendMessageError,
  startMessages,
} from '../../../../test/fixtures/messages-server.ts';
import type { Handler } from '../../../../test/fixtures/upstream-server.ts';
import { ApiError } from '../../../errors.ts';
import type { ChatMessage, ChatPrompt, FunctionTool, GenerationRequest } from '../../engine.ts';

const never = new AbortController().signal;
const text = (value: string): ResponseBlock => ({ type: 'text', text: value });
const hello = respondWithMessage([text('Hello.')]);
const tool = (name: string): FunctionTool => ({
  type: 'function',
  function: { name, description: `The "${name}".`, parameters: { properties: { city: { type: 'string' } } } },
});

/** The body that a request becomes. */
async function sentBody(t: TestContext, changes: Partial<GenerationRequest>): Promise<Record<string, unknown>> {
  const { engine, posts } = await startMessages(t, hello);
  await collectGeneration(engine, chatRequest('Hi', { maxTokens: null, ...changes }));
  return posts()[0]?.body ?? {};
}

const prompt = (messages: ChatMessage[], changes: Partial<ChatPrompt> = {}): Partial<GenerationRequest> => ({
  prompt: { kind: 'chat', messages, tools: [], toolChoice: 'auto', parallelToolCalls: true, ...changes },
});

const isError = (status: number, code: string, param: string | null) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.deepEqual([error.status, error.code, error.param], [status, code, param], error.message);
  return true;
};

describe('requests to a server of Anthropic Messages', () => {
  it('send the key and the version as headers, to /v1/messages', async (t) => {
    const { engine, posts } = await startMessages(t, hello);
    await collectGeneration(engine, chatRequest('Hi'));
    const [{ path, headers }] = posts() as [ReturnType<typeof posts>[number]];
    assert.equal(path, '/v1/messages');
    assert.deepEqual(
      [headers['x-api-key'], headers['anthropic-version'], headers.authorization],
      ['sk-ant-1', '2023-06-01', undefined],
    );
  });

  it('have max_tokens, and nothing for parameters at their defaults', async (t) => {
    const { sampling } = textRequest('');
    const body = await sentBody(t, { sampling: { ...sampling, temperature: 1 }, incremental: false });
    const content = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }];
    assert.deepEqual(body, { model: 'the-model', max_tokens: 8192, messages: [{ role: 'user', content }] });
  });

  it('have the parameters of the caller', async (t) => {
    const { sampling } = textRequest('');
    const upstreamParameters = { top_k: 5, verbosity: 'low', chat_template_kwargs: { a: 1 }, model: 'other' };
    const body = await sentBody(t, {
      maxTokens: 9,
      stop: ['END', '"\n'],
      sampling: { ...sampling, temperature: 0, topP: 0.5 },
      upstreamParameters,
    });
    const { messages: _, ...parameters } = body;
    assert.deepEqual(parameters, {
      ...{ model: 'the-model', max_tokens: 9, stop_sequences: ['END', '"\n'], temperature: 0, top_p: 0.5, top_k: 5 },
      stream: true,
    });
  });

  it('have one system prompt, and one turn for consecutive messages of a role', async (t) => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"city":"Rome"}' } });
    const body = await sentBody(
      t,
      prompt(
        [
          { role: 'system', content: 'Be "short".' },
          { role: 'user', content: 'Look.' },
          { role: 'system', content: 'Be kind.' },
          { role: 'assistant', content: null, tool_calls: [call('call:1'), call('call_2')] as never },
          { role: 'tool', tool_call_id: 'call:1', content: 'sun' },
          { role: 'tool', tool_call_id: 'call_2', content: '' },
          { role: 'user', content: ' ' },
          { role: 'user', content: 'And?' },
        ],
        { tools: [tool('look')], toolChoice: { name: 'look' }, parallelToolCalls: false },
      ),
    );
    const cached = { cache_control: { type: 'ephemeral' } };
    assert.deepEqual(body['system'], [{ type: 'text', text: 'Be "short".\n\nBe kind.', ...cached }]);
    assert.deepEqual(body['messages'], [
      { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
      {
        role: 'assistant',
        content: ['call_1', 'call_2'].map((id) => ({ type: 'tool_use', id, name: 'look', input: { city: 'Rome' } })),
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'sun' },
          { type: 'tool_result', tool_use_id: 'call_2', content: '' },
          { type: 'text', text: 'And?', ...cached },
        ],
      },
    ]);
    const { name, description, parameters } = tool('look').function;
    assert.deepEqual(body['tools'], [{ name, description, input_schema: { type: 'object', ...parameters } }]);
    assert.deepEqual(body['tool_choice'], { type: 'tool', name: 'look', disable_parallel_tool_use: true });
  });

  it('have each tool choice', async (t) => {
    const choices = { auto: { type: 'auto' }, none: { type: 'none' }, required: { type: 'any' } };
    for (const [toolChoice, expected] of Object.entries(choices)) {
      const messages: ChatMessage[] = [{ role: 'user', content: 'Hi' }];
      const changes = { tools: [tool('look')], toolChoice: toolChoice as 'auto' };
      const body = await sentBody(t, prompt(messages, changes));
      assert.deepEqual(body['tool_choice'], expected);
      assert.deepEqual((body['tools'] as object[])[0], {
        ...{ name: 'look', description: 'The "look".', cache_control: { type: 'ephemeral' } },
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      });
    }
  });

  it('have images between the texts around them', async (t) => {
    const images = [
      { at: 2, url: 'data:image/png;base64,iVBORw0KGgo=' },
      { at: 2, url: 'https://example.com/a.png?b="c"' },
    ];
    const { messages } = await sentBody(t, prompt([{ role: 'user', content: 'A: B', images }]));
    assert.deepEqual((messages as { content: unknown }[])[0]?.content, [
      { type: 'text', text: 'A:' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png?b="c"' } },
      { type: 'text', text: ' B', cache_control: { type: 'ephemeral' } },
    ]);
  });

  it('are rejected for parameters that Messages does not have, before anything is sent', async (t) => {
    const { engine, posts } = await startMessages(t, hello);
    const { sampling } = textRequest('');
    const cases: [string, Partial<GenerationRequest>][] = [
      ['n', { choices: 2 }],
      ['logprobs', { logprobs: 0 }],
      ['seed', { sampling: { ...sampling, seed: 0 } }],
      ['temperature', { sampling: { ...sampling, temperature: 1.01 } }],
      ['presence_penalty', { sampling: { ...sampling, presencePenalty: -1 } }],
      ['frequency_penalty', { sampling: { ...sampling, frequencyPenalty: 1 } }],
      ['logit_bias', { sampling: { ...sampling, logitBias: { 5: 1 } } }],
      ['response_format', { format: { type: 'regex', pattern: 'a' } }],
      ['prompt', { prompt: { kind: 'text', text: 'Once', suffix: null } }],
      [
        'response_format',
        { format: { type: 'json_object' }, ...prompt([{ role: 'user', content: 'a' }], { tools: [tool('a')] }) },
      ],
    ];
    for (const [param, changes] of cases) {
      const events = engine.generate(chatRequest('Hi', changes), never);
      await assert.rejects(events.next(), isError(400, 'invalid_value', param), param);
    }
    assert.equal(posts().length, 0);
  });
});

describe('reasoning on a server of Anthropic Messages', () => {
  const thinking = (changes: Partial<GenerationRequest>, effort = 'medium') => ({
    ...chatRequest('Hi', { sampling: { ...textRequest('').sampling, temperature: null }, maxTokens: null, ...changes }),
    upstreamParameters: { reasoning_effort: effort },
  });
  const ADAPTIVE = { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'medium' } };
  const pickThinking = (body: Record<string, unknown> | null | undefined) =>
    Object.fromEntries(Object.entries(body ?? {}).filter(([name]) => ['thinking', 'output_config'].includes(name)));

  it('is adaptive with the effort of the request', async (t) => {
    const { engine, posts } = await startMessages(t, hello);
    for (const effort of ['medium', 'minimal', 'none']) await collectGeneration(engine, thinking({}, effort));
    const bodies = posts().map(({ body }) => pickThinking(body));
    assert.deepEqual(bodies, [ADAPTIVE, { ...ADAPTIVE, output_config: { effort: 'low' } }, {}]);
  });

  it('leaves out the thinking beside a temperature and a forced tool, and keeps the effort', async (t) => {
    const { engine, posts } = await startMessages(t, hello);
    await collectGeneration(engine, thinking({ sampling: { ...textRequest('').sampling, temperature: 0.5 } }));
    const forced = { tools: [tool('look')], toolChoice: 'required' as const };
    await collectGeneration(engine, thinking(prompt([{ role: 'user', content: 'a' }], forced)));
    for (const { body } of posts()) assert.deepEqual(pickThinking(body), { output_config: { effort: 'medium' } });
  });

  it('becomes a budget where the model is not adaptive, and nothing where it does not reason, for all calls', async (t) => {
    const rejecting =
      (rejected: string): Handler =>
      (request, response, count) => {
        const type = (request.body?.['thinking'] as { type?: string } | undefined)?.type;
        if (type !== undefined && rejected.includes(type))
          return sendMessageError(response, 400, `thinking: ${type} is not supported`);
        return hello(request, response, count);
      };
    const older = await startMessages(t, rejecting('adaptive'));
    const requests = [thinking({}), thinking({}, 'high'), thinking({ maxTokens: 4096 }), thinking({ maxTokens: 2047 })];
    for (const request of requests) await collectGeneration(older.engine, request);
    const budgets = older.posts().map(({ body }) => pickThinking(body)['thinking']);
    const enabled = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });
    assert.deepEqual(budgets, [ADAPTIVE.thinking, enabled(4096), enabled(4096), enabled(2048), undefined]);
    const call = { id: 'call_1', type: 'function' as const, function: { name: 'look', arguments: '{}' } };
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sun' },
    ];
    await collectGeneration(older.engine, thinking(prompt(messages, { tools: [tool('look')] })));
    assert.deepEqual(pickThinking(older.posts().at(-1)?.body), {}, 'the reasoning before the call is not known');
    const oldest = await startMessages(t, rejecting('adaptive enabled'));
    for (const request of requests.slice(0, 2)) await collectGeneration(oldest.engine, request);
    assert.deepEqual(
      oldest.posts().map(({ body }) => (pickThinking(body)['thinking'] as { type: string } | undefined)?.type),
      ['adaptive', 'enabled', undefined, undefined],
    );
  });

  it('comes back before the text, with the tokens that the server counted', async (t) => {
    const blocks: ResponseBlock[] = [
      { type: 'thinking', thinking: 'Hm, 😀 let me think.', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'abc' },
      text('Yes.'),
    ];
    const { engine } = await startMessages(t, respondWithMessage(blocks));
    for (const incremental of [true, false]) {
      const { choices, usage } = await collectGeneration(engine, chatRequest('Hi', { incremental }));
      assert.deepEqual([choices[0]?.reasoning, choices[0]?.text], ['Hm, 😀 let me think.', 'Yes.']);
      assert.equal(usage.reasoningTokens, 2);
    }
  });
});
