import { collect } from '../inference/collect.ts';
import { viewNotices } from '../inference/moderation-notice.ts';
import { viewUsage } from '../inference/view-generation.ts';
import { viewFinishReason, viewLogprobs } from './chunks.ts';
import type { ChatCompletion } from './schema.ts';
import type { ChatRun } from './start-chat.ts';
import { annotate, viewContext } from './view-context.ts';

type ToolCall = NonNullable<ChatCompletion['choices'][number]['message']['tool_calls']>[number];

function viewToolCalls([first, ...others]: ToolCall[], usesFunctions: boolean) {
  if (first === undefined) return {};
  return usesFunctions ? { function_call: first.function } : { tool_calls: [first, ...others] };
}

/** Collects a started chat completion into the non-streamed response. Equals the concatenation of its stream. */
export async function collectChat(run: ChatRun): Promise<ChatCompletion> {
  const { generation, context } = await run.started;
  const { usesFunctions = false, input, repeated } = run.chat;
  const { choices, usage } = await collect(generation.events, input.choices);
  return {
    id: run.id,
    object: 'chat.completion',
    ...run.head,
    choices: choices.map(({ text, reasoning, toolCalls, logprobs, reason }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: text === '' && toolCalls.length > 0 ? null : text,
        refusal: null,
        ...(reasoning !== '' && { reasoning_content: reasoning }),
        ...viewToolCalls(toolCalls, usesFunctions),
        ...(context !== null && { annotations: annotate(text, context) }),
      },
      logprobs: logprobs && viewLogprobs(logprobs),
      finish_reason: viewFinishReason(reason, usesFunctions),
    })),
    usage: viewUsage(usage),
    ...repeated,
    ...viewNotices(run.notices()),
    ...(context !== null && { knowledge_base_context: viewContext(context) }),
  };
}
