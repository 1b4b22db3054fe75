import type { TimedResponse } from './connection.ts';
import { SERIAL_PLACEHOLDER } from './serial-number.ts';

/** Prompt that makes the mock upstream respond for many seconds, for clients that disconnect. */
export const LONG_COMPLETION_PROMPT = 'Please give a very long answer.';

/** APIs that requests are written for. */
export type Api = 'chat' | 'messages' | 'ollama';

/** Path of each API, and the text that ends its streams. */
const APIS: Record<Api, { path: string; end: string }> = {
  chat: { path: '/v1/chat/completions', end: '[DONE]' },
  messages: { path: '/v1/messages', end: 'message_stop' },
  ollama: { path: '/api/chat', end: '"done":true' },
};

/** Target of a request. `origin` is scheme, host and port. */
export interface Target {
  origin: string;
  headers: Record<string, string>;
  /** The API of the requests. Default: `chat`. */
  api?: Api;
  /** Default: `general-8b`. */
  model?: string;
}

/** Options of a request; `prompt` replaces the default one. */
export interface ChatRequestOptions {
  stream: boolean;
  prompt?: string;
  maxTokens?: number;
}

const SYSTEM_PROMPT =
  'You are the support assistant of a company that sells bicycles. Answer in at most five sentences, politely, and only ' +
  'about bicycles, orders and deliveries. If you do not know the answer, say so and name the address of the support desk.';
const USUAL_PROMPT =
  'My order arrived yesterday, but the front wheel has a broken spoke. I ride to work every day, so I would like to know ' +
  'whether I may have it repaired in a shop near me and send you the bill, or whether I have to send the wheel back.';

/**
 * Returns a complete HTTP/1.1 request for a chat of about 1 KB by the API of the target, as bytes for a socket. The
 * last message ends with `SERIAL_PLACEHOLDER`.
 */
export function chatRequest(target: Target, question: ChatRequestOptions): Buffer {
  const api = target.api ?? 'chat';
  const turns = [
    { role: 'user', content: 'Hello, can you help me with an order?' },
    { role: 'assistant', content: 'Of course. What is it about?' },
    { role: 'user', content: `${question.prompt ?? USUAL_PROMPT} ${SERIAL_PLACEHOLDER}` },
  ];
  const model = target.model ?? 'general-8b';
  const messages = [{ role: 'system', content: SYSTEM_PROMPT }, ...turns];
  const limits = { temperature: 0.7, max_tokens: question.maxTokens ?? 256 };
  const stream = question.stream && { stream: true };
  const bodies = {
    chat: { model, messages, ...limits, ...stream, ...(stream && { stream_options: { include_usage: true } }) },
    messages: { model, system: SYSTEM_PROMPT, messages: turns, ...limits, ...stream },
    ollama: {
      ...{ model, messages, stream: question.stream },
      options: { temperature: limits.temperature, num_predict: limits.max_tokens },
    },
  };
  const body = JSON.stringify(bodies[api]);
  const head = Object.entries({
    host: new URL(target.origin).host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...target.headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${APIS[api].path} HTTP/1.1\r\n${head.join('')}\r\n${body}`);
}

/** Returns why a response is invalid; undefined for a complete, successful response. */
export function findDefect(answer: TimedResponse, question: ChatRequestOptions, api: Api = 'chat'): string | undefined {
  if (answer.status !== 200) return `status ${answer.status}: ${answer.complaint}`;
  const { end } = APIS[api];
  if (question.stream && !answer.tail.includes(end)) {
    return `the stream ended without ${end} after ${answer.bodyBytes} bytes: ...${answer.tail}`;
  }
  if (!question.stream && !answer.tail.trimEnd().endsWith('}')) return 'the answer is not a JSON object';
  return undefined;
}
