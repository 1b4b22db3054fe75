/** One real service for client tests, with every kind of engine. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import OpenAI, { type ClientOptions } from 'openai';
import { startModelServer } from '../fixtures/model-server.ts';
import { type Handler, sendEvents, sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { type Service, startService } from '../spawned-service.ts';

/** Model ids of the service, by engine. */
export const MODELS = {
  /** The bundled model. */
  bundled: 'general-8b',
  /** An upstream with a generating model. */
  upstream: 'general-70b',
  /** An upstream with scripted responses (`play`). */
  scripted: 'instruct-7b',
} as const;

/** Backends that generate: client guarantees must hold for both. */
export const CHAT_BACKENDS = [
  ['the bundled model', MODELS.bundled],
  ['an upstream', MODELS.upstream],
] as const;

/** A service and its upstreams. */
export interface Backends {
  service: Service;
  /** Base URL with `/v1`. */
  baseURL: string;
  upstream: TestServer;
  scripted: TestServer;
  /** Sets the responses of the scripted upstream and resets its request count. */
  play(handler: Handler): void;
  /** Creates an OpenAI client, without retries by default. */
  openai(options?: ClientOptions): OpenAI;
}

let started: Promise<Pick<Backends, 'service' | 'baseURL' | 'upstream' | 'scripted'>> | undefined;
let handler: Handler;
let count = 0;

// Hook of the first importer: of the process where several test files share it (`share-processes.js`), or else of the
// test file.
after(async () => {
  if (started === undefined) return;
  const { service, upstream, scripted } = await started;
  await service.kill();
  await upstream.close();
  await scripted.close();
  assert.doesNotMatch(service.stderr(), /model process ended/, 'what a client asked broke the local engine');
});

/** Lends a test file the servers and the service of its process. The first one starts them. */
export function useBackends(): Backends {
  const backends = {} as Backends;
  const play = (next: Handler) => {
    handler = next;
    count = 0;
  };
  before(async () => {
    play((_request, response) => sendJson(response, 500, {}));
    started ??= startBackends();
    Object.assign(backends, await started);
    backends.upstream.requests.length = 0;
    backends.scripted.requests.length = 0;
  });
  return Object.assign(backends, {
    play,
    openai: (options: ClientOptions = {}) =>
      new OpenAI({ baseURL: backends.baseURL, apiKey: backends.service.key, maxRetries: 0, ...options }),
  });
}

async function startBackends() {
  const upstream = await startModelServer();
  const scripted = await startServer((request, response) => handler(request, response, count++));
  const service = await startService({
    // MCP servers of the tests are on loopback.
    env: { QUIRE_UPSTREAM_URL: upstream.baseUrl, QUIRE_ALLOW_PRIVATE_HOSTS: '127.0.0.1' },
    config: [
      'models:',
      `  ${MODELS.bundled}: {engine: bundled}`,
      `  ${MODELS.scripted}: {base_urls: ['${scripted.baseUrl}']}`,
    ].join('\n'),
  });
  return { upstream, scripted, service, baseURL: `${service.url}/v1` };
}

/** Fields of a chat request that the scripts read. */
interface ChatBody {
  messages: { role: string; content: string | null }[];
  tools: { function: { name: string } }[];
  stream?: boolean;
}

const HEAD = { id: 'x', created: 1, model: 'scripted' };
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

/** Script of a model that calls the first tool with these arguments, then reports the tool result. */
export function callThenReport(args: object): Handler {
  return ({ body }, response) => {
    const { messages, tools, stream } = body as unknown as ChatBody;
    const last = messages.at(-1);
    const call = { id: 'call_42', type: 'function', function: { name: tools[0]!.function.name, arguments: '' } };
    const whole = { ...call, function: { ...call.function, arguments: JSON.stringify(args) } };
    const tells = last?.role === 'tool';
    const reason = tells ? 'stop' : 'tool_calls';
    const content = tells ? `The tool said ${last?.content}.` : null;
    const message = tells ? { role: 'assistant', content } : { role: 'assistant', content, tool_calls: [whole] };
    if (!stream) {
      const choices = [{ index: 0, message, finish_reason: reason }];
      return sendJson(response, 200, { ...HEAD, object: 'chat.completion', choices, usage: USAGE });
    }
    const pieces = tells
      ? [{ role: 'assistant', content }]
      : [{ role: 'assistant', tool_calls: [{ index: 0, ...call }] }, ...argumentPieces(whole.function.arguments)];
    const chunks = [...pieces.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason: reason }];
    const object = 'chat.completion.chunk';
    sendEvents(
      response,
      chunks.map((choice) => ({ ...HEAD, object, choices: [{ index: 0, ...choice }] })),
    );
    sendEvents(response, [{ ...HEAD, object, choices: [], usage: USAGE }, '[DONE]']);
    response.end();
  };
}

/** Arguments of the calls of `callAllThenReport`. */
export const CITIES = ['Oslo', 'Rome', 'Bern'];

/** A model that calls the tool for every city at once, and then reports the results that it was given. */
export const callAllThenReport: Handler = ({ body }, response) => {
  const { messages, stream } = body as unknown as ChatBody;
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

const argumentPieces = (text: string) =>
  (text.match(/.{1,4}/gsu) ?? []).map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] }));

/** A short response, streamed or not. */
export const answers: Handler = ({ body }, response) => {
  const choice = { index: 0, finish_reason: 'stop' };
  if (body?.['stream'] !== true) {
    const message = { role: 'assistant', content: 'Well.' };
    return sendJson(response, 200, { ...HEAD, choices: [{ ...choice, message }], usage: USAGE });
  }
  sendEvents(response, [
    { ...HEAD, choices: [{ ...choice, delta: { role: 'assistant', content: 'Well.' } }] },
    { ...HEAD, choices: [], usage: USAGE },
    '[DONE]',
  ]);
  response.end();
};

/** Starts a stream with one text delta and leaves it open. */
export const startAndStall: Handler = (_request, response) =>
  sendEvents(response, [{ ...HEAD, choices: [{ index: 0, delta: { role: 'assistant', content: 'Once' } }] }]);

/** Whether the first two texts, which are similar, are closer than the first and the third. Vectors have length 1. */
export function assertMeaningful([first, second, third]: readonly (readonly number[])[]): void {
  const similarity = (other: readonly number[] = []) => other.reduce((sum, value, i) => sum + value * first![i]!, 0);
  assert.ok(similarity(second) > similarity(third) + 0.1, `${similarity(second)} and ${similarity(third)}`);
}
