import type { GenerationUsage } from '../engines/engine.ts';
import type { Usage } from './parameters.ts';

/** Usage in the format of the API. Both details are always present, and at most the tokens that they are part of. */
export function viewUsage(usage: GenerationUsage): Usage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(usage.cachedTokens, usage.promptTokens) },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}

/** Value of `X-Cache-Status`: HIT when any prompt token came from the prefix cache. */
export function cacheStatus(cachedTokens: number | null): 'HIT' | 'MISS' {
  return cachedTokens !== null && cachedTokens > 0 ? 'HIT' : 'MISS';
}
