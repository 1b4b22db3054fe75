import type { FinishReason, GenerationEvent, TokenLogprob } from '../engines/engine.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { viewUsage } from '../inference/view-generation.ts';
import { obfuscate } from './obfuscate.ts';
import type { ChatCompletionChunk } from './schema.ts';
import type { ChatRun } from './start-chat.ts';
import { annotate, viewContext } from './view-context.ts';

type Delta = ChatCompletionChunk['choices'][number]['delta'];

/**
 * Converts generation events to stream chunks. The first chunk of a choice has the role, the last one an empty delta
 * and the finish reason. A call that includes usage ends with a chunk that has the usage and no choices; `usage` of the
 * other chunks is then null. With knowledge bases, the chunk before the finish reason has the annotations and the
 * context.
 */
export function toChunks(run: ChatRun): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const chunks = convertEvents(run);
  return run.chat.isObfuscated ? obfuscate(chunks) : chunks;
}

async function* convertEvents(run: ChatRun): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const { includesUsage, usesFunctions = false, repeated } = run.chat;
  const head = {
    id: run.id,
    object: 'chat.completion.chunk' as const,
    ...run.head,
    ...(includesUsage && { usage: null }),
    ...(repeated?.service_tier && { service_tier: repeated.service_tier }),
  };
  const { generation, context } = await run.started;
  const startedChoices = new Set<number>();
  // On the first frame only.
  let moderation = viewNotices(run.notices());
  const texts = new Map<number, string>();
  for await (const event of generation.events) {
    if (event.type === 'prompt-end') continue;
    if (event.type === 'usage') {
      if (includesUsage) yield { ...head, choices: [], usage: viewUsage(event.usage) };
      continue;
    }
    if (!startedChoices.has(event.choice)) {
      startedChoices.add(event.choice);
      // A choice that starts with a tool call has null content, as in the non-streamed response.
      const delta = { role: 'assistant' as const, content: event.type === 'tool-call-delta' ? null : '' };
      yield { ...head, choices: [{ index: event.choice, delta, finish_reason: null }], ...moderation };
      moderation = {};
    }
    if (context !== null) {
      if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.text);
      if (event.type === 'choice-end') {
        const annotations = annotate(texts.get(event.choice) ?? '', context);
        const choice = { index: event.choice, delta: { content: '', annotations }, finish_reason: null };
        yield { ...head, choices: [choice], knowledge_base_context: viewContext(context) };
      }
    }
    // A model that ignores the limit of one call: the form has no place for others.
    if (usesFunctions && event.type === 'tool-call-delta' && event.index > 0) continue;
    yield { ...head, choices: [toChoice(event, usesFunctions)] };
  }
}

function toChoice(
  event: Exclude<GenerationEvent, { type: 'prompt-end' | 'usage' }>,
  usesFunctions: boolean,
): ChatCompletionChunk['choices'][number] {
  if (event.type === 'choice-end') {
    const reason = viewFinishReason(event.reason, usesFunctions);
    return { index: event.choice, delta: {}, finish_reason: reason };
  }
  const logprobs = event.type === 'text-delta' && event.logprobs ? { logprobs: viewLogprobs(event.logprobs) } : {};
  return { index: event.choice, delta: toDelta(event, usesFunctions), ...logprobs, finish_reason: null };
}

function toDelta(
  event: Extract<GenerationEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>,
  usesFunctions: boolean,
): Delta {
  if (event.type === 'text-delta') return { content: event.text };
  if (event.type === 'reasoning-delta') return { reasoning_content: event.text };
  const isFirst = event.id !== undefined;
  const name = event.name === undefined ? {} : { name: event.name };
  if (usesFunctions) return { function_call: { ...name, arguments: event.arguments } };
  return {
    tool_calls: [
      {
        index: event.index,
        ...(isFirst && { id: event.id as string, type: 'function' as const }),
        function: { ...name, arguments: event.arguments },
      },
    ],
  };
}

/** The finish reason, which has another name for OpenAI's former functions. */
export const viewFinishReason = (reason: FinishReason, usesFunctions: boolean) =>
  usesFunctions && reason === 'tool_calls' ? 'function_call' : reason;

/** Converts log probabilities to the format of chat completions. */
export function viewLogprobs(tokens: readonly TokenLogprob[]) {
  return {
    content: tokens.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top })),
    refusal: null,
  };
}
