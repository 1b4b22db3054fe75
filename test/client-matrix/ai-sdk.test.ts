import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { CHAT_BACKENDS, callThenReport, MODELS, useBackends } from '../clients/backends.ts';

// The SDK warns about settings that some providers lack.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const backends = useBackends();
const prompt = 'How warm is it in Oslo?';
const provider = (apiKey = backends.service.key) =>
  createOpenAICompatible({
    name: 'quire',
    baseURL: backends.baseURL,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
    // A small model may repeat tool calls until its token limit; nothing is executed then.
    transformRequestBody: (body) => ({ ...body, ...(body['tools'] && { parallel_tool_calls: false }) }),
  });

const tools = {
  thermometer: tool({
    description: 'Reads a thermometer.',
    inputSchema: z.object({ city: z.enum(['Oslo', 'Rome']), exact: z.boolean() }),
    execute: async ({ city }) => `${city}: 21`,
  }),
};

for (const [backend, model] of CHAT_BACKENDS) {
  describe(`Vercel AI SDK on ${backend}`, () => {
    it('is a generation model, with usage and finish reason', async () => {
      const result = await generateText({ model: provider()(model), prompt, maxOutputTokens: 8 });
      assert.equal(typeof result.text, 'string');
      assert.match(result.finishReason, /^(stop|length)$/);
      assert.ok((result.usage.inputTokens ?? 0) > 0);
      assert.ok((result.usage.outputTokens ?? 0) > 0);
      assert.equal(result.response.modelId, model);
    });

    it('streams the generated text, with usage at the end', async () => {
      const asked = { model: provider()(model), prompt, maxOutputTokens: 16, temperature: 0 };
      const whole = await generateText(asked);
      const streamed = streamText({ ...asked, onError: ({ error }) => assert.fail(`${error}`) });
      let text = '';
      for await (const piece of streamed.textStream) text += piece;
      assert.equal(text, whole.text);
      assert.equal(await streamed.finishReason, whole.finishReason);
      const usage = await streamed.usage;
      assert.equal(usage.outputTokens, whole.usage.outputTokens);
      assert.equal(usage.inputTokens, whole.usage.inputTokens);
    });

    it('calls the required tool, streamed and not', async () => {
      const asked = { model: provider()(model), prompt, tools, toolChoice: 'required' as const, maxOutputTokens: 400 };
      const whole = await generateText(asked);
      const streamed = streamText({ ...asked, onError: ({ error }) => assert.fail(`${error}`) });
      await streamed.consumeStream();
      for (const result of [whole, { toolResults: await streamed.toolResults }]) {
        assert.match(`${result.toolResults[0]?.output}`, /^(Oslo|Rome): 21$/);
      }
    });

    it('generates objects of a schema, streamed and not', async () => {
      const schema = z.object({ sky: z.enum(['clear', 'grey']), windy: z.boolean() });
      const asked = { model: provider()(model), prompt, maxOutputTokens: 400 };
      const { object } = await generateObject({ ...asked, schema });
      assert.deepEqual(schema.parse(object), object);
      const whole = await generateText({ ...asked, output: Output.object({ schema }) });
      assert.deepEqual(schema.parse(whole.output), whole.output);
      const streamed = streamText({ ...asked, output: Output.object({ schema }) });
      await streamed.consumeStream();
      assert.deepEqual(schema.parse(await streamed.output), await streamed.output);
    });

    it('continues a text', async () => {
      const asked = {
        model: provider().completionModel(model),
        prompt: 'Once upon',
        maxOutputTokens: 8,
        temperature: 0,
      };
      const whole = await generateText(asked);
      const streamed = streamText(asked);
      assert.equal(await streamed.text, whole.text);
      assert.ok(((await streamed.usage).outputTokens ?? 0) > 0);
    });
  });
}

describe('Vercel AI SDK', () => {
  for (const stream of [false, true]) {
    it(`runs its tool loop until the model reports the result${stream ? ', streamed' : ''}`, async () => {
      backends.play(callThenReport({ city: 'Oslo', exact: true }));
      const asked = { model: provider()(MODELS.scripted), prompt, tools, stopWhen: isStepCount(4) };
      const result = stream ? streamText(asked) : await generateText(asked);
      assert.equal(await result.text, 'The tool said Oslo: 21.');
      assert.equal((await result.steps).length, 2);
    });
  }

  it('parses an error of the catalogue', async () => {
    const call = generateText({ model: provider()('gpt-17'), prompt, maxRetries: 0 });
    await assert.rejects(call, (error) => {
      assert.ok(APICallError.isInstance(error));
      assert.equal(error.statusCode, 404);
      assert.match(error.message, /There is no model 'gpt-17'/);
      assert.equal(error.isRetryable, false);
      return true;
    });
    const refused = generateText({
      model: provider('quire-sk-nobody-has-this')(MODELS.bundled),
      prompt,
      maxRetries: 0,
    });
    await assert.rejects(refused, { statusCode: 401 });
  });
});
