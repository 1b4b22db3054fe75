import { isRecord } from '../../lib/json.ts';
import {
  type ChatPrompt,
  COMPLETION_DETAILS,
  type GenerationUsage,
  PROMPT_DETAILS,
  type TextPrompt,
} from '../engine.ts';
import { countImages, IMAGE_TOKENS } from '../prompt-images.ts';
import type { UpstreamChunk } from './upstream-chunk.ts';

/** Typical characters per token, for servers that report no usage. */
const CHARACTERS_PER_TOKEN = 4;

/** Typical tokens of a chat template per message. */
const TOKENS_PER_MESSAGE = 4;

/**
 * Parses reported usage; null when there is none. `usage` takes precedence over llama-server's `timings` (`cache_n +
 * prompt_n` prompt tokens, `predicted_n` completion tokens), which complete it.
 */
export function parseUsage({ usage, timings }: UpstreamChunk): GenerationUsage | null {
  const reported = isRecord(usage) ? usage : {};
  const timed = isRecord(timings) ? timings : {};
  const processed = count(timed['prompt_n']);
  const timedPrompt = processed === null ? null : processed + (count(timed['cache_n']) ?? 0);
  const promptTokens = count(reported['prompt_tokens']) ?? timedPrompt;
  const completionTokens = count(reported['completion_tokens']) ?? count(timed['predicted_n']);
  if (promptTokens === null || completionTokens === null) return null;
  const details = reported['prompt_tokens_details'];
  const cached =
    (isRecord(details) ? count(details['cached_tokens']) : null) ?? count(reported['prompt_cache_hit_tokens']);
  const made = reported['completion_tokens_details'];
  // SGLang reports them beside the other counts.
  const reasoningTokens =
    (isRecord(made) ? count(made['reasoning_tokens']) : null) ?? count(reported['reasoning_tokens']);
  return {
    promptTokens,
    completionTokens,
    cachedTokens: Math.min(cached ?? count(timed['cache_n']) ?? 0, promptTokens),
    ...(reasoningTokens !== null && { reasoningTokens }),
    ...readDetails('promptDetails', details, PROMPT_DETAILS),
    ...readDetails('completionDetails', made, COMPLETION_DETAILS),
  };
}

/** The reported counts of those names; nothing without any. */
function readDetails(field: 'promptDetails' | 'completionDetails', details: unknown, names: readonly string[]) {
  const reported = isRecord(details) ? details : {};
  const counts = names.flatMap((name) => {
    const tokens = count(reported[name]);
    return tokens === null ? [] : [[name, tokens]];
  });
  return counts.length === 0 ? {} : { [field]: Object.fromEntries(counts) };
}

/** Reported tokens of a request without a completion; null when there are none, or fewer than `least`. */
export function readInputTokens(usage: unknown, least = 1): number | null {
  const reported = isRecord(usage) ? count(usage['prompt_tokens'] ?? usage['total_tokens']) : null;
  return reported !== null && reported >= least ? reported : null;
}

/** Approximates the tokens of a prompt: a quarter of its characters, four per message, and images; at least 1. */
export function approximatePromptTokens(prompt: ChatPrompt | TextPrompt): number {
  if (prompt.kind === 'text') return approximateTokens(prompt.text.length + (prompt.suffix?.length ?? 0));
  let characters = prompt.tools.length === 0 ? 0 : JSON.stringify(prompt.tools).length;
  for (const { content, tool_calls: calls } of prompt.messages) {
    characters += (content?.length ?? 0) + (calls ? JSON.stringify(calls).length : 0);
  }
  const images = IMAGE_TOKENS * countImages(prompt.messages);
  return approximateTokens(characters) + TOKENS_PER_MESSAGE * prompt.messages.length + images;
}

/** Approximates the tokens of a text by its length in characters; at least 1. */
export function approximateTokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / CHARACTERS_PER_TOKEN));
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.floor(value) : null;
}
