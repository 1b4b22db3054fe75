import { type AnswerEvent, parseCitations, parsePassage, type RawPassage } from '../answers/answer-events.ts';
import { openStream } from '../answers/event-stream.ts';
import { ApiFailure } from '../api/client.ts';

interface ChatChunk {
  error?: { message: string; code: string; param: string | null };
  choices?: {
    delta?: {
      content?: string | null;
      reasoning_content?: string | null;
      annotations?: unknown[];
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
    };
    logprobs?: { content: RawLogprob[] | null } | null;
    finish_reason?: string | null;
  }[];
  knowledge_base_context?: { results: RawPassage[] } | null;
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
}

interface RawLogprob {
  token: string;
  logprob: number;
  top_logprobs?: { token: string; logprob: number }[];
}

/** Streams a chat completion. Throws `ApiFailure` and `ConnectionLost`. */
export async function* streamChat(request: object, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
  const { events, status, requestId, cacheStatus } = await openStream('/v1/chat/completions', request, signal);
  yield { type: 'head', requestId, cacheStatus };
  for await (const event of events) {
    const chunk = event as ChatChunk;
    if (chunk.error !== undefined) throw new ApiFailure(status, chunk.error, requestId);
    yield* parseChunk(chunk);
  }
}

function* parseChunk({ choices, knowledge_base_context: context, usage }: ChatChunk): Generator<AnswerEvent> {
  const [choice] = choices ?? [];
  const { delta, finish_reason: reason, logprobs } = choice ?? {};
  if (delta?.reasoning_content)
    yield { type: 'delta', kind: 'reasoning', key: 'reasoning', text: delta.reasoning_content };
  const tokens = (logprobs?.content ?? []).map(({ token, logprob, top_logprobs: top = [] }) => ({
    token,
    logprob,
    top,
  }));
  if (delta?.content) yield { type: 'delta', kind: 'text', key: 'text', text: delta.content, tokens };
  for (const { index, id, function: called } of delta?.tool_calls ?? []) {
    yield { type: 'call', key: `call:${index}`, callId: id, name: called.name, arguments: called.arguments };
  }
  if (delta?.annotations !== undefined)
    yield { type: 'citations', key: 'text', citations: parseCitations(delta.annotations) };
  if (context != null) yield { type: 'context', passages: context.results.map(parsePassage) };
  if (reason != null) yield { type: 'finish', reason };
  if (usage == null) return;
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens, prompt_tokens_details: details } = usage;
  const cachedTokens = details?.cached_tokens ?? 0;
  yield { type: 'usage', usage: { promptTokens, completionTokens, cachedTokens } };
}
