/** Other clients of the Responses API against a real service: Vercel AI SDK, LangChain, OpenAI's Agents SDK. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { tool as aiTool, generateText, isStepCount, streamText } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { CHAT_BACKENDS, CITIES, callAllThenReport, MODELS, useBackends } from '../clients/backends.ts';

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
setTracingDisabled(true);

const backends = useBackends();
const City = z.object({ city: z.string() });
const question = 'How warm is it in Oslo, Rome and Bern?';
const thermometer = {
  type: 'function' as const,
  name: 'thermometer',
  description: 'Reads a thermometer.',
  parameters: z.toJSONSchema(City) as Record<string, unknown>,
  strict: true,
};

describe('Vercel AI SDK: the Responses model', () => {
  const model = (id: string) => createOpenAI({ baseURL: backends.baseURL, apiKey: backends.service.key }).responses(id);
  const tools = {
    thermometer: aiTool({ description: 'Reads.', inputSchema: City, execute: async ({ city }) => `${city} 21` }),
  };
  const report = `Read: ${CITIES.map((city) => `${city} 21`).join(', ')}.`;

  it('loops over three parallel calls, with items by reference and in full, streamed and not', async () => {
    for (const store of [true, false]) {
      backends.play(callAllThenReport);
      const params = {
        model: model(MODELS.scripted),
        prompt: question,
        tools,
        stopWhen: isStepCount(3),
        providerOptions: { openai: { store } },
      };
      const whole = await generateText(params);
      assert.equal(whole.text, report);
      assert.equal(whole.steps[0]?.toolCalls.length, 3);
      assert.equal(whole.finishReason, 'stop');
      const streamed = streamText({ ...params, onError: ({ error }) => assert.fail(`${error}`) });
      assert.equal(await streamed.text, report);
      assert.equal((await streamed.totalUsage).inputTokens, 6);
    }
  });

  for (const [backend, id] of CHAT_BACKENDS) {
    it(`generates and streams on ${backend}`, async () => {
      const params = { model: model(id), prompt: 'Once upon a time', maxOutputTokens: 12, temperature: 0 };
      const whole = await generateText(params);
      const streamed = streamText({ ...params, onError: ({ error }) => assert.fail(`${error}`) });
      assert.equal(await streamed.text, whole.text);
      assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens);
    });
  }
});

describe('LangChain: Responses mode', () => {
  const chat = (model: string) =>
    new ChatOpenAI({
      model,
      apiKey: backends.service.key,
      configuration: { baseURL: backends.baseURL },
      maxRetries: 0,
      useResponsesApi: true,
    });

  it('binds tools, makes three parallel calls, and continues with their results, streamed and not', async () => {
    backends.play(callAllThenReport);
    const bound = chat(MODELS.scripted).bindTools([{ type: 'function', function: thermometer }]);
    const first = await bound.invoke(question);
    assert.deepEqual(
      first.tool_calls?.map(({ args }) => args['city']),
      CITIES,
    );
    let streamed: Awaited<ReturnType<typeof bound.invoke>> | undefined;
    for await (const chunk of await bound.stream(question)) streamed = streamed ? streamed.concat(chunk) : chunk;
    assert.deepEqual(
      streamed?.tool_calls?.map(({ args }) => args['city']),
      CITIES,
    );
    const results = (first.tool_calls ?? []).map(({ id = '' }, index) => ({
      role: 'tool',
      tool_call_id: id,
      content: `${index}`,
    }));
    const second = await bound.invoke([{ role: 'user', content: question }, first, ...results] as never);
    assert.equal(second.text, 'Read: 0, 1, 2.');
  });

  for (const [backend, id] of CHAT_BACKENDS) {
    it(`invokes and streams on ${backend}`, async () => {
      const whole = await chat(id).invoke('Once upon a time');
      assert.equal(typeof whole.text, 'string');
      let text = '';
      for await (const chunk of await chat(id).stream('Once upon a time')) text += chunk.text;
      assert.ok(text.length > 0);
    });
  }
});

describe('@openai/agents', () => {
  const reader = agentTool({
    name: 'thermometer',
    description: 'Reads a thermometer.',
    parameters: City,
    execute: async ({ city }) => `${city} 21`,
  });
  const agent = (id: string, fields: object = {}) =>
    new Agent({
      name: 'Weather',
      instructions: 'Answer briefly.',
      model: new OpenAIResponsesModel(new OpenAI({ baseURL: backends.baseURL, apiKey: backends.service.key }), id),
      ...fields,
    });
  const report = `Read: ${CITIES.map((city) => `${city} 21`).join(', ')}.`;

  it('runs an agent with three parallel calls, by items and by previous_response_id, streamed and not', async () => {
    backends.play(callAllThenReport);
    const weather = agent(MODELS.scripted, { tools: [reader] });
    const whole = await run(weather, question);
    assert.equal(whole.finalOutput, report);
    const streamed = await run(weather, question, { stream: true });
    await streamed.completed;
    assert.equal(streamed.finalOutput, report);
    const next = await run(weather, 'Again?', { previousResponseId: whole.lastResponseId ?? '' });
    assert.equal(next.finalOutput, report);
  });

  it('runs an agent on the bundled model', async () => {
    const result = await run(agent(MODELS.bundled), 'Once upon a time');
    assert.equal(typeof result.finalOutput, 'string');
  });
});
