/** Every route that calls models, and every way to call it, for the matrices over all of them. */
import assert from 'node:assert/strict';
import { ENDPOINTS } from '../src/batches/endpoints.ts';
import { EMBEDDING_DIMENSIONS } from '../src/engines/embedding-engine.ts';
import type { ServedModel } from '../src/engines/registry.ts';
import { ApiError } from '../src/errors.ts';
import { type Call, serviceCaller } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { runBackground } from '../src/responses/run-background.ts';
import { type Answer, bindCatalogue, type TestApi } from './harness.ts';
import type { ScriptedEngine } from './scripted-engine.ts';
import { openSocket } from './web-socket-client.ts';

/** How a matrix calls a route that calls models. */
export interface ModelRoute {
  /** Whether the route generates text: its answers are screened, unless it streams. */
  generates: boolean;
  modes: readonly Mode[];
  /** The answer is encrypted. */
  isSealed?: true;
  /** The answer does not say why it ended. */
  lacksReason?: true;
  /** Type of the error of blocked input; `content_policy_violation` unless the protocol has another one. */
  errorType?: string;
  /** A request with a text of the caller. */
  body(text: string): object;
}

/** `batch line`: without HTTP. `conversation`, `background`, `WebSocket`: of a response. `tool call`: of `/mcp`. */
export type Mode = 'whole' | 'streamed' | 'batch line' | 'conversation' | 'background' | 'WebSocket' | 'tool call';

/** Modes whose answers are sent while they are generated. */
export const STREAMS: readonly Mode[] = ['streamed', 'WebSocket'];

const WHOLE = ['whole'] as const;
const BOTH = ['whole', 'streamed'] as const;

const input = (text: string) => ({ model: 'general-8b', input: text });
const chat = (text: string) => ({ model: 'general-8b', messages: [{ role: 'user', content: text }] });

/** Every route that calls models for the text of a caller, except those of `EXEMPT_ROUTES`. */
export const MODEL_ROUTES: Record<string, ModelRoute> = {
  'POST /v1/chat/completions': { generates: true, modes: [...BOTH, 'batch line'], body: chat },
  'POST /v1/completions': {
    generates: true,
    modes: [...BOTH, 'batch line'],
    body: (text) => ({ model: 'general-8b', prompt: text }),
  },
  'POST /v1/responses': {
    generates: true,
    modes: [...BOTH, 'conversation', 'background', 'WebSocket'],
    body: input,
  },
  'POST /v1/responses/compact': { generates: true, modes: WHOLE, isSealed: true, body: input },
  'POST /v1/messages': {
    generates: true,
    modes: BOTH,
    errorType: 'invalid_request_error',
    body: (text) => ({ ...chat(text), max_tokens: 64 }),
  },
  'POST /api/chat': {
    generates: true,
    modes: BOTH,
    body: (text) => ({ ...chat(text), model: 'general-8b:latest', stream: false }),
  },
  'POST /api/generate': {
    generates: true,
    modes: BOTH,
    body: (text) => ({ model: 'general-8b:latest', stream: false, prompt: text }),
  },
  'POST /api/embed': {
    generates: false,
    modes: WHOLE,
    body: (text) => ({ model: 'embed-large-en-v1.5', input: text }),
  },
  'POST /api/embeddings': {
    generates: false,
    modes: WHOLE,
    body: (text) => ({ model: 'embed-large-en-v1.5', prompt: text }),
  },
  'POST /v1/embeddings': {
    generates: false,
    modes: [...WHOLE, 'batch line'],
    body: (text) => ({ model: 'embed-large-en-v1.5', input: text }),
  },
  'POST /v1/rerank': {
    generates: false,
    modes: WHOLE,
    body: (text) => ({ model: 'reranker-v2-m3', query: text, documents: ['one', 'two'] }),
  },
  'POST /mcp': {
    generates: true,
    modes: ['tool call'],
    lacksReason: true,
    body: (text) => ({ question: text, model: 'general-8b' }),
  },
};

const SEARCHES = 'embeds the query of a search, whose hits are stored texts';

/** Routes that call models, and that policies do not apply to, with the reason. */
export const EXEMPT_ROUTES: Record<string, string> = {
  'POST /v1/moderations': 'scores texts, and shows no output of a model',
  'GET /v1/responses': 'its messages are the mode `WebSocket` of `POST /v1/responses`',
  'POST /v1/chats/:chat_id/messages':
    'its answer is a response in the background, a mode of `POST /v1/responses`; `src/chats/chats.test.ts` blocks one',
  'POST /v1/knowledge-bases/:kb_id/retrieve': SEARCHES,
  'POST /v1/vector_stores/:vector_store_id/search': SEARCHES,
};

/** The catalogue with scripted engines of every kind. `intercept` is called before each embedding and each rerank. */
export function scriptedModels(engine: ScriptedEngine, intercept: () => void = () => {}): ServedModel[] {
  const backend = () => ({ engine: 'bundled' as const, model: 'scripted', parameters: null, ready: true });
  const common = { backend, check: async () => {}, close: async () => {} };
  const rerank = async () => {
    intercept();
    return { scores: [0.1, 0.2], tokens: 2 };
  };
  const embed = async ({ texts }: { texts: readonly string[] }) => {
    intercept();
    return { vectors: texts.map(() => new Float32Array(EMBEDDING_DIMENSIONS).fill(0.1)), tokens: texts.length };
  };
  const countTokens = async (texts: readonly string[]) => texts.map(() => 1);
  const embedding = { ...common, fingerprint: () => 'scripted', countTokens, embed };
  return bindCatalogue(engine).map((model) => {
    if (model.id === 'embed-large-en-v1.5') return { ...model, embedding };
    return model.id === 'reranker-v2-m3' ? { ...model, rerank: { ...common, rerank } } : model;
  });
}

/** A key and its organization. */
export interface RouteCaller {
  id: string;
  key: string;
  organizationId: string;
}

/** An answer; `stored`: the conversation after it, in the mode `conversation`. */
export type RouteAnswer = Answer & { stored?: string };

type Send = (api: TestApi, route: string, by: RouteCaller, body: object) => Promise<RouteAnswer>;

const pathOf = (route: string) => route.replace('POST ', '');

/** Calls a route, by mode. Answers without HTTP have its status, headers and JSON. */
export const sendAs: Record<Mode, Send> = {
  whole: (api, route, { key }, body) => api.send('POST', pathOf(route), { key, body }),
  streamed: (api, route, { key }, body) => api.send('POST', pathOf(route), { key, body: { ...body, stream: true } }),
  'batch line': runBatchLine,
  conversation: async (api, route, { key }, body) => {
    const { json } = await api.send('POST', '/v1/conversations', { key, body: {} });
    const answer = await api.send('POST', pathOf(route), { key, body: { ...body, conversation: json.id } });
    return { ...answer, stored: (await api.send('GET', `/v1/conversations/${json.id}/items`, { key })).text };
  },
  background: async (api, route, { key }, body) => {
    const queued = await api.send('POST', pathOf(route), { key, body: { ...body, background: true } });
    if (queued.status !== 200) return queued;
    await runBackground(api.deps, queued.json.id, new AbortController().signal);
    return api.send('GET', `/v1/responses/${queued.json.id}`, { key });
  },
  WebSocket: async (api, _route, { key }, body) => {
    const client = await openSocket(api, { key });
    const events = await client.turn({ type: 'response.create', ...body });
    client.socket.terminate();
    const { type, status, error, headers } = events.at(-1);
    const text = events.map((event) => JSON.stringify(event)).join('\n');
    return type === 'error'
      ? { status, headers: new Headers(headers), text, json: { error } }
      : { status: 200, headers: new Headers(), text, json: null };
  },
  'tool call': async (api, route, { key }, body) => {
    await api.send('POST', '/v1/knowledge-bases', { key, body: { name: 'Empty' } });
    const params = { name: 'ask', arguments: body };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const headers = { accept: 'application/json, text/event-stream' };
    const answer = await api.send('POST', pathOf(route), { key, body: message, headers });
    if (answer.status !== 200) return answer;
    const { result } = JSON.parse(/^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text);
    if (!result.isError)
      return { ...answer, text: JSON.stringify(result.structuredContent), json: result.structuredContent };
    const { status, ...error } = result._meta['quire/error'];
    assert.equal(result.content[0].text, error.message);
    const shown = new Headers({ 'x-request-id': answer.headers.get('x-request-id') ?? '' });
    if (error.policy_id !== undefined) shown.set('x-guardrail-policy', error.policy_id);
    return { status, headers: shown, text: JSON.stringify(error), json: { error } };
  },
};

/** Runs a line of a batch. The headers are those of its error, if it fails. */
async function runBatchLine(
  api: TestApi,
  route: string,
  { id, organizationId }: RouteCaller,
  body: object,
): Promise<Answer> {
  const path = pathOf(route);
  assert.ok(path in ENDPOINTS);
  const requestId = newId('request');
  const caller = serviceCaller(organizationId, id);
  const call: Call = { caller, requestId, endpoint: path, priority: 'batch', isBatchLine: true };
  const headers = new Headers({ 'x-request-id': requestId });
  try {
    const { complete } = ENDPOINTS[path as keyof typeof ENDPOINTS];
    const text = await complete(api.deps, call, { ...body }, new AbortController().signal);
    return { status: 200, headers, text, json: JSON.parse(text) };
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
    const json = error.body();
    return { status: error.status, headers, text: JSON.stringify(json), json };
  }
}
