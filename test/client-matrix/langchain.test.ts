import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChatOpenAI, type ChatOpenAIFields, OpenAI } from '@langchain/openai';
import { z } from 'zod';
import { CHAT_BACKENDS, callThenReport, MODELS, useBackends } from '../clients/backends.ts';

const backends = useBackends();
const prompt = 'How warm is it in Oslo?';
const access = () => ({ apiKey: backends.service.key, configuration: { baseURL: backends.baseURL }, maxRetries: 0 });
const chat = (model: string, more: ChatOpenAIFields = {}) => new ChatOpenAI({ model, ...access(), ...more });

/** Completion tokens of a response or chunk; 0 without usage. LangChain's types lack usage. */
function completionTokens(message: object): number {
  const { usage_metadata: usage } = message as { usage_metadata?: { total_tokens: number } };
  return usage?.total_tokens ?? 0;
}

const Reading = z.object({ city: z.enum(['Oslo', 'Rome']), exact: z.boolean() });
const thermometer = {
  type: 'function' as const,
  function: { name: 'thermometer', description: 'Reads a thermometer.', parameters: z.toJSONSchema(Reading) },
};

for (const [backend, model] of CHAT_BACKENDS) {
  describe(`LangChain on ${backend}`, () => {
    it('invokes a chat model, with usage', async () => {
      const answer = await chat(model, { maxTokens: 8 }).invoke([
        ['system', 'You are a weather station.'],
        ['user', prompt],
      ]);
      assert.equal(typeof answer.content, 'string');
      assert.ok(completionTokens(answer) > 0);
      assert.match(`${answer.response_metadata['finish_reason']}`, /^(stop|length)$/);
    });

    it('streams the response, with usage in the last chunk', async () => {
      const client = chat(model, { maxTokens: 16, temperature: 0 });
      const whole = await client.invoke(prompt);
      let text = '';
      let tokens = 0;
      for await (const chunk of await client.stream(prompt)) {
        text += chunk.content as string;
        tokens += completionTokens(chunk);
      }
      assert.equal(text, whole.content);
      assert.equal(tokens, completionTokens(whole));
    });

    it('binds tools, streamed and not', async () => {
      const client = chat(model, { maxTokens: 400 }).bindTools([thermometer], {
        tool_choice: 'required',
        parallel_tool_calls: false,
      });
      const whole = await client.invoke(prompt);
      assert.equal(whole.tool_calls?.[0]?.name, 'thermometer');
      Reading.parse(whole.tool_calls?.[0]?.args);
      let streamed: Awaited<ReturnType<typeof client.invoke>> | undefined;
      for await (const chunk of await client.stream(prompt)) streamed = streamed ? streamed.concat(chunk) : chunk;
      Reading.parse(streamed?.tool_calls?.[0]?.args);
    });

    for (const method of ['jsonSchema', 'functionCalling'] as const) {
      it(`returns structured output by ${method}`, async () => {
        const client = chat(model, { maxTokens: 400 }).withStructuredOutput(Reading, { method, name: 'reading' });
        const value = await client.invoke(prompt);
        assert.deepEqual(Reading.parse(value), value);
      });
    }

    it('completes a batch of inputs', async () => {
      const answers = await chat(model, { maxTokens: 4 }).batch([prompt, 'And in Rome?', 'And here?']);
      assert.equal(answers.length, 3);
    });

    it('continues a text with its legacy client, streamed and not', async () => {
      const client = new OpenAI({ model, ...access(), maxTokens: 8, temperature: 0 });
      const whole = await client.invoke('Once upon');
      let text = '';
      for await (const piece of await client.stream('Once upon')) text += piece;
      assert.equal(text, whole);
    });
  });
}

describe('LangChain', () => {
  it('receives the result of a tool call', async () => {
    backends.play(callThenReport({ city: 'Oslo', exact: true }));
    const client = chat(MODELS.scripted).bindTools([thermometer]);
    const call = await client.invoke(prompt);
    const id = call.tool_calls?.[0]?.id;
    assert.ok(id);
    const told = await client.invoke([
      { role: 'user', content: prompt },
      call,
      { role: 'tool', content: '21', tool_call_id: id },
    ]);
    assert.equal(told.content, 'The tool said 21.');
  });

  it('parses an error of the catalogue', async () => {
    await assert.rejects(chat('gpt-17').invoke(prompt), (error: Error & { status?: number; code?: string }) => {
      assert.equal(error.status, 404);
      assert.match(error.message, /There is no model 'gpt-17'/);
      return true;
    });
  });
});
