import { networkFailure, toFailure } from './client.ts';

/** A source that supports an answer, at its offsets in the text of the answer. */
export interface Citation {
  startIndex: number;
  endIndex: number;
  documentId: string | null;
  chunkId: string | null;
  title: string;
  url: string | null;
}

/** Token usage of an answer. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

/** A part of a streamed chat completion. */
export type ChatEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'context'; context: unknown }
  | { type: 'citations'; annotations: unknown[] }
  | { type: 'finish'; reason: string }
  | { type: 'usage'; usage: Usage };

/** Streams a chat completion. Throws `ApiFailure`; ends early when `signal` aborts. */
export async function* streamChat(request: object, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw networkFailure();
  });
  if (!response.ok || response.body === null) throw await toFailure(response);
  for await (const data of readEvents(response.body)) {
    if (data === '[DONE]') return;
    yield* parseChunk(JSON.parse(data));
  }
}

/** Yields the `data` of each server-sent event. */
async function* readEvents(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const events = buffer.split('\n\n');
    buffer = events.pop() ?? '';
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart());
      if (data.length > 0) yield data.join('\n');
    }
  }
}

interface ChatChunk {
  error?: { message: string; code: string; param: string | null };
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null; annotations?: unknown[] };
    finish_reason?: string | null;
  }[];
  knowledge_base_context?: unknown;
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
}

function* parseChunk(chunk: ChatChunk): Generator<ChatEvent> {
  if (chunk.error !== undefined) throw Object.assign(new Error(chunk.error.message), chunk.error);
  const [choice] = chunk.choices ?? [];
  const { delta, finish_reason: reason } = choice ?? {};
  if (delta?.reasoning_content) yield { type: 'reasoning', text: delta.reasoning_content };
  if (delta?.content) yield { type: 'text', text: delta.content };
  if (delta?.annotations !== undefined) yield { type: 'citations', annotations: delta.annotations };
  if (chunk.knowledge_base_context != null) yield { type: 'context', context: chunk.knowledge_base_context };
  if (reason != null) yield { type: 'finish', reason };
  if (chunk.usage == null) return;
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = chunk.usage;
  const cachedTokens = prompt_tokens_details?.cached_tokens ?? 0;
  yield { type: 'usage', usage: { promptTokens: prompt_tokens, completionTokens: completion_tokens, cachedTokens } };
}
