import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { CHAT_BACKENDS, callThenReport, MODELS, useBackends } from './backends.ts';

const backends = useBackends();
const messages = [{ role: 'user' as const, content: 'How warm is it in Oslo?' }];

/** A tool that records its arguments. */
function thermometer(calls: unknown[]) {
  return zodFunction({
    name: 'thermometer',
    description: 'Reads a thermometer.',
    parameters: z.object({ city: z.enum(['Oslo', 'Rome']), exact: z.boolean() }),
    function: (args) => {
      calls.push(args);
      return { celsius: 21 };
    },
  });
}

describe('openai: runTools', () => {
  for (const stream of [false, true]) {
    it(`loops until the model reports the result${stream ? ', streamed' : ''}`, async () => {
      backends.play(callThenReport({ city: 'Oslo', exact: true }));
      const before = backends.scripted.requests.length;
      const calls: unknown[] = [];
      const params = { model: MODELS.scripted, messages, tools: [thermometer(calls)] };
      const { completions } = backends.openai().chat;
      const runner = stream ? completions.runTools({ ...params, stream }) : completions.runTools(params);
      assert.equal(await runner.finalContent(), 'The tool said {"celsius":21}.');
      assert.deepEqual(calls, [{ city: 'Oslo', exact: true }]);
      assert.deepEqual(
        runner.messages.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'assistant'],
      );
      const [, second] = backends.scripted.requests.slice(before).filter(({ method }) => method === 'POST');
      assert.ok(second);
      const { messages: told } = second.body as unknown as { messages: [unknown, AssistantMessage, ToolMessage] };
      const [, call, result] = told;
      assert.equal(result.tool_call_id, call.tool_calls[0]?.id);
      assert.deepEqual(JSON.parse(call.tool_calls[0]?.function.arguments ?? ''), calls[0]);
    });
  }

  for (const [backend, model] of CHAT_BACKENDS) {
    it(`calls the named tool with arguments of its schema on ${backend}`, async () => {
      const calls: { city: string; exact: boolean }[] = [];
      const runner = backends.openai().chat.completions.runTools({
        model,
        messages,
        max_tokens: 400,
        tools: [thermometer(calls)],
        tool_choice: { type: 'function', function: { name: 'thermometer' } },
        parallel_tool_calls: false,
      });
      assert.equal(await runner.finalFunctionToolCallResult(), '{"celsius":21}');
      assert.equal(calls.length, 1);
      assert.ok(['Oslo', 'Rome'].includes(calls[0]!.city));
      assert.equal(typeof calls[0]!.exact, 'boolean');
    });
  }
});

interface ToolMessage {
  tool_call_id: string;
}

interface AssistantMessage {
  tool_calls: { id: string; function: { arguments: string } }[];
}

describe('openai: structured outputs', () => {
  const Weather = z.object({ sky: z.enum(['clear', 'grey']), windy: z.boolean() });
  const format = zodResponseFormat(Weather, 'weather');

  for (const [backend, model] of CHAT_BACKENDS) {
    it(`are parsed from a non-streamed response on ${backend}`, async () => {
      const asked = { model, messages, max_tokens: 400, response_format: format };
      const answer = await backends.openai().chat.completions.parse(asked);
      assert.deepEqual(Weather.parse(answer.choices[0]?.message.parsed), answer.choices[0]?.message.parsed);
    });

    it(`are parsed from a stream on ${backend}`, async () => {
      const asked = { model, messages, max_tokens: 400, response_format: format };
      const answer = await backends.openai().chat.completions.stream(asked).finalChatCompletion();
      assert.deepEqual(Weather.parse(answer.choices[0]?.message.parsed), answer.choices[0]?.message.parsed);
    });
  }

  it('reach the upstream with the unchanged schema', async () => {
    const asked = { model: MODELS.upstream, messages, max_tokens: 400, response_format: format };
    await backends.openai().chat.completions.parse(asked);
    const seen = backends.upstream.requests.filter(({ method }) => method === 'POST').at(-1);
    assert.deepEqual(seen?.body?.['response_format'], JSON.parse(JSON.stringify(format)));
  });
});
