import type { ChatRun } from '../../chat/start-chat.ts';
import type { FinishReason, GenerationUsage } from '../../engines/engine.ts';
import { collect } from '../../inference/collect.ts';
import { viewNotices } from '../../inference/moderation-notice.ts';
import { parseToolArguments } from '../../inference/tool-arguments.ts';
import type { AnthropicMessage, ContentBlock, MessageUsage, StopReason } from './schema.ts';

const STOP_REASONS: Readonly<Record<FinishReason, StopReason>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** Why a message ended. */
export function viewStop(reason: FinishReason, stopSequence: string | null) {
  const isStopped = reason === 'stop' && stopSequence !== null;
  return { stop_reason: isStopped ? ('stop_sequence' as const) : STOP_REASONS[reason], stop_sequence: stopSequence };
}

/** Usage in Anthropic's terms: `input_tokens` are those that the prefix cache did not have. */
export function viewMessageUsage({ promptTokens, cachedTokens, completionTokens }: GenerationUsage): MessageUsage {
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

/** Collects a started chat into the message that is not streamed. Equals the concatenation of its stream. */
export async function collectMessage(run: ChatRun, id: string, showsThinking: boolean): Promise<AnthropicMessage> {
  const { generation } = await run.started;
  const { choices, usage } = await collect(generation.events, 1);
  const [choice] = choices;
  if (choice === undefined) throw new Error('the generation has no choice');
  const { text, reasoning, toolCalls, reason, stopSequence } = choice;
  const content: ContentBlock[] = [
    ...(showsThinking && reasoning !== '' ? [{ type: 'thinking' as const, thinking: reasoning, signature: '' }] : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text, citations: null }]),
    ...toolCalls.map((call) => ({
      type: 'tool_use' as const,
      id: call.id,
      name: call.function.name,
      input: parseToolArguments(call.function.arguments),
    })),
  ];
  return {
    id,
    type: 'message',
    role: 'assistant',
    model: run.head.model,
    content,
    ...viewStop(reason, stopSequence),
    usage: viewMessageUsage(usage),
    ...viewNotices(run.notices()),
  };
}
