/**
 * OpenAI's client of the Responses API against a real service. Other clients: `test/client-matrix/responses.test.ts`.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { withDeadline } from '../deadline.ts';
import { CHAT_BACKENDS, CITIES, callAllThenReport, MODELS, useBackends } from './backends.ts';

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
