/**
 * The clients of the matrix. A feature is a function that throws when the client gets something unexpected; `context`
 * has the base URL, the key, and the model ids.
 */
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import Instructor from '@instructor-ai/instructor';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { OpenAI as LlamaOpenAI, OpenAIEmbedding } from '@llamaindex/openai';
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents';
import { embed, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { FunctionTool } from 'llamaindex';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { z } from 'zod';

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
process.env.OPENAI_AGENTS_DISABLE_TRACING = '1';

const PROMPT = 'How warm is it in Oslo?';
const TEXT = 'Hello from the stub.';
const REPORT = 'The tool said 21.';
const Weather = z.object({ city: z.string(), temperature: z.number() });
const WEATHER = { city: 'Oslo', temperature: 21 };
const City = z.object({ city: z.string() });
const messages = [{ role: 'user', content: PROMPT }];

/** Asserts that a call fails with the sentence and, where the client shows it, the status of an unknown model. */
async function assertUnknownModel(call, status = (error) => error.status ?? error.statusCode) {
  await assert.rejects(call, (error) => {
    assert.match(String(error.message), /There is no model 'gpt-17'/);
    if (status(error) !== undefined) assert.equal(status(error), 404);
    return true;
  });
}

const openai = ({ baseURL, apiKey }) => new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const weatherTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

const openaiClient = {
  name: 'openai',
  chat: async (context) => {
    const { choices } = await openai(context).chat.completions.create({ model: context.model, messages });
    assert.equal(choices[0].message.content, TEXT);
  },
  stream: async (context) => {
    const stream = openai(context).chat.completions.stream({ model: context.model, messages });
    assert.equal(await stream.finalContent(), TEXT);
  },
  tools: async (context) => {
    const { chat } = openai(context);
    const first = await chat.completions.create({ model: context.model, messages, tools: [weatherTool] });
    const [{ message }] = first.choices;
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '21' };
    const next = { model: context.model, messages: [...messages, message, result], tools: [weatherTool] };
    assert.equal((await chat.completions.create(next)).choices[0].message.content, REPORT);
  },
  structured: async (context) => {
    const schema = z.toJSONSchema(Weather);
    const response_format = { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } };
    const { choices } = await openai(context).chat.completions.parse({
      model: context.model,
      messages,
      response_format,
    });
    assert.deepEqual(choices[0].message.parsed, WEATHER);
  },
  embeddings: async (context) => {
    const { data } = await openai(context).embeddings.create({ model: context.embedder, input: ['a', 'b'] });
    assert.deepEqual(
      data.map(({ embedding }) => embedding.length),
      [1024, 1024],
    );
  },
  errors: (context) => assertUnknownModel(openai(context).chat.completions.create({ model: 'gpt-17', messages })),
};

/** The AI SDK with a provider. `chat` selects the API: responses by default. */
function aiSdk(name, select) {
  const model = (context, id = context.model) =>
    select(createOpenAI({ baseURL: context.baseURL, apiKey: context.apiKey }), id);
  const weather = tool({ inputSchema: City, execute: async () => '21' });
  return {
    name,
    chat: async (context) => assert.equal((await generateText({ model: model(context), prompt: PROMPT })).text, TEXT),
    stream: async (context) => assert.equal(await streamText({ model: model(context), prompt: PROMPT }).text, TEXT),
    tools: async (context) => {
      const result = await generateText({
        model: model(context),
        prompt: PROMPT,
        tools: { weather },
        stopWhen: isStepCount(3),
      });
      assert.equal(result.text, REPORT);
    },
    structured: async (context) => {
      const output = Output.object({ schema: Weather });
      assert.deepEqual((await generateText({ model: model(context), prompt: PROMPT, output })).output, WEATHER);
    },
    embeddings: async (context) => {
      const provider = createOpenAI({ baseURL: context.baseURL, apiKey: context.apiKey });
      const { embedding } = await embed({ model: provider.textEmbeddingModel(context.embedder), value: 'a' });
      assert.equal(embedding.length, 1024);
    },
    errors: (context) =>
      assertUnknownModel(generateText({ model: model(context, 'gpt-17'), prompt: PROMPT, maxRetries: 0 })),
  };
}

const langchain = (context, model = context.model) =>
  new ChatOpenAI({ model, apiKey: context.apiKey, configuration: { baseURL: context.baseURL }, maxRetries: 0 });

const langchainClient = {
  name: '@langchain/openai',
  chat: async (context) => assert.equal((await langchain(context).invoke(PROMPT)).content, TEXT),
  stream: async (context) => {
    let text = '';
    for await (const chunk of await langchain(context).stream(PROMPT)) text += chunk.content;
    assert.equal(text, TEXT);
  },
  tools: async (context) => {
    const model = langchain(context).bindTools([weatherTool]);
    const called = await model.invoke(PROMPT);
    const result = new ToolMessage({ tool_call_id: called.tool_calls[0].id, content: '21' });
    assert.equal((await model.invoke([new HumanMessage(PROMPT), called, result])).content, REPORT);
  },
  structured: async (context) => {
    const model = langchain(context).withStructuredOutput(Weather, { method: 'jsonSchema' });
    assert.deepEqual(await model.invoke(PROMPT), WEATHER);
  },
  embeddings: async (context) => {
    const embedder = new OpenAIEmbeddings({
      model: context.embedder,
      apiKey: context.apiKey,
      configuration: { baseURL: context.baseURL },
    });
    assert.equal((await embedder.embedQuery('a')).length, 1024);
  },
  errors: (context) => assertUnknownModel(langchain(context, 'gpt-17').invoke(PROMPT)),
};

const runner = (context) =>
  new Runner({
    modelProvider: new OpenAIProvider({ baseURL: context.baseURL, apiKey: context.apiKey, useResponses: true }),
    tracingDisabled: true,
  });
const agent = (context, options = {}) =>
  new Agent({ name: 'a', instructions: 'Answer.', model: context.model, ...options });

const agentsClient = {
  name: '@openai/agents',
  chat: async (context) => assert.equal((await runner(context).run(agent(context), PROMPT)).finalOutput, TEXT),
  stream: async (context) => {
    const run = await runner(context).run(agent(context), PROMPT, { stream: true });
    let text = '';
    for await (const part of run.toTextStream()) text += part;
    assert.equal(text, TEXT);
  },
  tools: async (context) => {
    const weather = agentTool({
      name: 'weather',
      description: 'Weather.',
      parameters: City,
      execute: async () => '21',
    });
    assert.equal((await runner(context).run(agent(context, { tools: [weather] }), PROMPT)).finalOutput, REPORT);
  },
  structured: async (context) => {
    const run = await runner(context).run(agent(context, { outputType: Weather }), PROMPT);
    assert.deepEqual(run.finalOutput, WEATHER);
  },
  errors: (context) => assertUnknownModel(runner(context).run(agent({ ...context, model: 'gpt-17' }), PROMPT)),
};

const llama = (context, model = context.model) =>
  new LlamaOpenAI({ model, apiKey: context.apiKey, baseURL: context.baseURL, maxRetries: 0, supportToolCall: true });

const llamaIndexClient = {
  name: 'llamaindex',
  chat: async (context) => assert.equal((await llama(context).chat({ messages })).message.content, TEXT),
  stream: async (context) => {
    let text = '';
    for await (const { delta } of await llama(context).chat({ messages, stream: true })) text += delta;
    assert.equal(text, TEXT);
  },
  tools: async (context) => {
    const weather = FunctionTool.from(async () => '21', { name: 'weather', description: 'Weather.', parameters: City });
    const model = llama(context);
    const { message } = await model.chat({ messages, tools: [weather] });
    const [{ id }] = message.options.toolCall;
    const result = { role: 'user', content: '21', options: { toolResult: { id, result: '21', isError: false } } };
    assert.equal(
      (await model.chat({ messages: [...messages, message, result], tools: [weather] })).message.content,
      REPORT,
    );
  },
  structured: async (context) => {
    const { message } = await llama(context).chat({ messages, responseFormat: Weather });
    assert.deepEqual(JSON.parse(message.content), WEATHER);
  },
  embeddings: async (context) => {
    const embedder = new OpenAIEmbedding({ model: context.embedder, apiKey: context.apiKey, baseURL: context.baseURL });
    assert.equal((await embedder.getTextEmbedding('a')).length, 1024);
  },
  errors: (context) => assertUnknownModel(llama(context, 'gpt-17').chat({ messages })),
};

const mastra = (context, options = {}, id = context.model) =>
  new MastraAgent({
    id: 'a',
    name: 'a',
    instructions: 'Answer.',
    maxRetries: 0,
    model: createOpenAI({ baseURL: context.baseURL, apiKey: context.apiKey }).chat(id),
    ...options,
  });

const mastraClient = {
  name: '@mastra/core',
  chat: async (context) => assert.equal((await mastra(context).generate(PROMPT)).text, TEXT),
  stream: async (context) => assert.equal(await (await mastra(context).stream(PROMPT)).text, TEXT),
  tools: async (context) => {
    const weather = createTool({
      id: 'weather',
      description: 'Weather.',
      inputSchema: City,
      execute: async () => '21',
    });
    assert.match((await mastra(context, { tools: { weather } }).generate(PROMPT)).text, /The tool said "?21"?\./);
  },
  structured: async (context) => {
    const { object } = await mastra(context).generate(PROMPT, { structuredOutput: { schema: Weather } });
    assert.deepEqual(object, WEATHER);
  },
  errors: (context) => assertUnknownModel(mastra(context, {}, 'gpt-17').generate(PROMPT)),
};

const instructor = (context, mode) => Instructor({ client: openai(context), mode });
const extraction = (context, model = context.model) => ({
  model,
  messages,
  max_retries: 0,
  response_model: { schema: Weather, name: 'Weather' },
});

const instructorClient = {
  name: '@instructor-ai/instructor',
  chat: async (context) => {
    const { choices } = await instructor(context, 'TOOLS').chat.completions.create({ model: context.model, messages });
    assert.equal(choices[0].message.content, TEXT);
  },
  structured: async (context) => {
    for (const mode of ['TOOLS', 'JSON_SCHEMA']) {
      const { city, temperature } = await instructor(context, mode).chat.completions.create(extraction(context));
      assert.deepEqual({ city, temperature }, WEATHER);
    }
  },
  errors: (context) =>
    assertUnknownModel(instructor(context, 'TOOLS').chat.completions.create(extraction(context, 'gpt-17'))),
};

const anthropic = ({ url, apiKey }) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
const textOf = (message) => message.content.map(({ text }) => text).join('');

const anthropicClient = {
  name: '@anthropic-ai/sdk',
  chat: async (context) => {
    const request = { model: context.model, max_tokens: 64, messages };
    assert.equal(textOf(await anthropic(context).messages.create(request)), TEXT);
  },
  stream: async (context) => {
    const stream = anthropic(context).messages.stream({ model: context.model, max_tokens: 64, messages });
    assert.equal(await stream.finalText(), TEXT);
  },
  tools: async (context) => {
    const tools = [{ name: 'weather', input_schema: weatherTool.function.parameters }];
    const request = { model: context.model, max_tokens: 64, tools, messages };
    const { content, stop_reason } = await anthropic(context).messages.create(request);
    assert.equal(stop_reason, 'tool_use');
    const result = { type: 'tool_result', tool_use_id: content[0].id, content: '21' };
    const next = [...messages, { role: 'assistant', content }, { role: 'user', content: [result] }];
    assert.equal(textOf(await anthropic(context).messages.create({ ...request, messages: next })), REPORT);
  },
  structured: async (context) => {
    const format = { type: 'json_schema', schema: z.toJSONSchema(Weather) };
    const request = { model: context.model, max_tokens: 64, messages, output_config: { format } };
    assert.deepEqual(JSON.parse(textOf(await anthropic(context).messages.create(request))), WEATHER);
  },
  errors: (context) =>
    assertUnknownModel(anthropic(context).messages.create({ model: 'gpt-17', max_tokens: 64, messages })),
};

const ollama = ({ url, apiKey }) => new Ollama({ host: url, headers: { Authorization: `Bearer ${apiKey}` } });

const ollamaClient = {
  name: 'ollama',
  chat: async (context) => {
    const { message } = await ollama(context).chat({ model: context.model, messages });
    assert.equal(message.content, TEXT);
  },
  stream: async (context) => {
    let text = '';
    const stream = await ollama(context).chat({ model: context.model, messages, stream: true });
    for await (const { message } of stream) text += message.content;
    assert.equal(text, TEXT);
  },
  tools: async (context) => {
    const request = { model: context.model, messages, tools: [weatherTool] };
    const { message } = await ollama(context).chat(request);
    const result = { role: 'tool', tool_name: 'weather', content: '21' };
    const next = { ...request, messages: [...messages, message, result] };
    assert.equal((await ollama(context).chat(next)).message.content, REPORT);
  },
  structured: async (context) => {
    const { message } = await ollama(context).chat({
      model: context.model,
      messages,
      format: z.toJSONSchema(Weather),
    });
    assert.deepEqual(JSON.parse(message.content), WEATHER);
  },
  embeddings: async (context) => {
    const { embeddings } = await ollama(context).embed({ model: context.embedder, input: ['a', 'b'] });
    assert.deepEqual(
      embeddings.map(({ length }) => length),
      [1024, 1024],
    );
  },
  errors: (context) =>
    assertUnknownModel(ollama(context).chat({ model: 'gpt-17', messages }), (error) => error.status_code),
};

/** In the order of the table. */
export const CLIENTS = [
  openaiClient,
  anthropicClient,
  ollamaClient,
  aiSdk('ai with @ai-sdk/openai (responses)', (provider, id) => provider(id)),
  aiSdk('ai with @ai-sdk/openai (chat)', (provider, id) => provider.chat(id)),
  langchainClient,
  agentsClient,
  llamaIndexClient,
  mastraClient,
  instructorClient,
];
