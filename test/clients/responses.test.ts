/** The clients of OpenAI's Responses API against a real service: four SDKs, one service. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { tool as aiTool, generateText, isStepCount, streamText } from 'ai';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { withDeadline } from '../deadline.ts';
import { type Handler, sendEvents, sendJson } from '../fixtures/upstream-server.ts';
import { CHAT_BACKENDS, MODELS, useBackends } from './backends.ts';

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
setTracingDisabled(true);

const backends = useBackends();
const CITIES = ['Oslo', 'Rome', 'Bern'];
const City = z.object({ city: z.string() });
const question = 'How warm is it in Oslo, Rome and Bern?';
const thermometer = {
  type: 'function' as const,
  name: 'thermometer',
  description: 'Reads a thermometer.',
  parameters: z.toJSONSchema(City) as Record<string, unknown>,
  strict: true,
};

interface ChatMessage {
  role: string;
  content: string | null;
}

/** A model that calls the tool for every city at once, and then reports the results that it was given. */
const callAllThenReport: Handler = ({ body }, response) => {
  const { messages, stream } = body as unknown as { messages: ChatMessage[]; stream?: boolean };
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const head = { id: 'x', created: 1, model: 'scripted' };
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  const calls = CITIES.map((city, index) => ({
    index,
    id: `call_${city}`,
    type: 'function',
    function: { name: 'thermometer', arguments: JSON.stringify({ city }) },
  }));
  const isReport = results.length > 0;
  const content = isReport ? `Read: ${results.join(', ')}.` : null;
  const message = isReport ? { role: 'assistant', content } : { role: 'assistant', content, tool_calls: calls };
  const finish_reason = isReport ? 'stop' : 'tool_calls';
  if (!stream) return sendJson(response, 200, { ...head, choices: [{ index: 0, message, finish_reason }], usage });
  sendEvents(response, [
    { ...head, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason }] },
    { ...head, choices: [], usage },
    '[DONE]',
  ]);
  response.end();
};

const functionCalls = (output: readonly OpenAI.Responses.ResponseOutputItem[]) =>
  output.filter((item) => item.type === 'function_call');

describe('openai: responses', () => {
  for (const [backend, model] of CHAT_BACKENDS) {
    it(`streams on ${backend}; the accumulated response equals the retrieved one`, async () => {
      const { responses } = backends.openai();
      const stream = responses.stream({ model, input: 'Once upon a time', max_output_tokens: 12 });
      let text = '';
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta;
      });
      const final = await stream.finalResponse();
      const retrieved = await responses.retrieve(final.id);
      assert.equal(final.output_text, text);
      assert.equal(retrieved.output_text, text);
      assert.deepEqual([retrieved.id, retrieved.usage, retrieved.status], [final.id, final.usage, final.status]);
      const [item] = final.output;
      assert.ok(item?.type === 'message');
      assert.equal(item.id, retrieved.output[0]?.type === 'message' && retrieved.output[0].id);
    });

    it(`parses structured outputs on ${backend}`, async () => {
      const format = zodTextFormat(z.object({ sky: z.enum(['clear', 'grey']), windy: z.boolean() }), 'weather');
      const params = { model, input: question, max_output_tokens: 400, text: { format } };
      const parsed = await backends.openai().responses.parse(params);
      assert.ok(['clear', 'grey'].includes(parsed.output_parsed?.sky ?? ''));
      const streamed = await backends.openai().responses.stream(params).finalResponse();
      assert.equal(typeof streamed.output_parsed?.windy, 'boolean');
    });

    it(`calls the required function with arguments of its schema on ${backend}`, async () => {
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
      const params = { model, tools: [thermometer], max_output_tokens: 400, parallel_tool_calls: false };
      const first = await backends.openai().responses.create({ ...params, input, tool_choice: 'required' as const });
      const [call] = functionCalls(first.output);
      assert.equal(typeof City.parse(JSON.parse(call?.arguments ?? '')).city, 'string');
      const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '21' } as const;
      for (const next of [
        { input: [output], previous_response_id: first.id },
        { input: [...input, ...first.output, output] as OpenAI.Responses.ResponseInput },
      ]) {
        const { status, output: items } = await backends.openai().responses.create({ ...params, ...next });
        assert.ok(status === 'completed' || status === 'incomplete');
        assert.ok(items.length > 0);
      }
    });
  }

  for (const isStreamed of [false, true]) {
    it(`three parallel calls, continued in both ways${isStreamed ? ', streamed' : ''}`, async () => {
      backends.play(callAllThenReport);
      const { responses } = backends.openai();
      const send = (params: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
        isStreamed ? responses.stream(params as never).finalResponse() : responses.create(params);
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
      const common = { model: MODELS.scripted, tools: [thermometer] };
      const first = await send({ ...common, input });
      const calls = functionCalls(first.output);
      assert.deepEqual(
        calls.map((call) => JSON.parse(call.arguments).city),
        CITIES,
      );
      const outputs = calls.map((call, index) => ({
        type: 'function_call_output' as const,
        call_id: call.call_id,
        output: `${index}`,
      }));
      const byId = await send({ ...common, input: outputs, previous_response_id: first.id });
      const byItems = await send({ ...common, input: [...input, ...calls, ...outputs] });
      assert.deepEqual([byId.output_text, byItems.output_text], ['Read: 0, 1, 2.', 'Read: 0, 1, 2.']);
    });
  }

  it('three parallel calls on the bundled model, continued in both ways, streamed and not', async () => {
    const { responses } = backends.openai();
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
    const params = { model: MODELS.bundled, tools: [thermometer] };
    const required = { ...params, input, tool_choice: 'required' as const };
    const streamed = await responses.stream(required).finalResponse();
    const first = await responses.create(required);
    for (const { output } of [streamed, first]) {
      assert.deepEqual(
        functionCalls(output).map((call) => JSON.parse(call.arguments).city),
        CITIES,
      );
    }
    const outputs = functionCalls(first.output).map(({ call_id }) => ({
      type: 'function_call_output' as const,
      call_id,
      output: '21 degrees',
    }));
    const byId = { input: outputs, previous_response_id: first.id };
    const byItems = { input: [...input, ...first.output, ...outputs] as OpenAI.Responses.ResponseInput };
    const texts = [];
    for (const next of [byId, byItems]) {
      const settings = { temperature: 0, tool_choice: 'none' as const, max_output_tokens: 24 };
      const { error, output_text } = await responses.create({ ...params, ...settings, ...next });
      assert.equal(error, null);
      texts.push(output_text);
    }
    assert.ok(texts[0] !== '');
    assert.equal(texts[1], texts[0]);
  });

  it('runs in the background, is polled, resumed and cancelled', async () => {
    const { responses } = backends.openai();
    const params = { model: MODELS.upstream, input: 'Once upon a time', max_output_tokens: 12, background: true };
    const queued = await responses.create(params);
    assert.match(`${queued.status}`, /^(queued|in_progress)$/);
    const events = await Array.fromAsync(
      await withDeadline('the stream', responses.retrieve(queued.id, { stream: true })),
    );
    const rest = await Array.fromAsync(await responses.retrieve(queued.id, { stream: true, starting_after: 1 }));
    assert.deepEqual(rest, events.slice(2));
    assert.match(events.at(-1)?.type ?? '', /^response\.(completed|incomplete)$/);
    const ended = await responses.retrieve(queued.id);
    assert.equal((await responses.cancel(queued.id)).status, ended.status);
    await responses.delete(queued.id);
    await assert.rejects(responses.retrieve(queued.id), { status: 404, code: 'response_not_found' });
  });
});

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
      model: new OpenAIResponsesModel(backends.openai(), id),
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
