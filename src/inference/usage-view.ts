import type { GenerationUsage } from '../engines/engine.ts';
import type { Usage } from './parameters.ts';

/** Usage in the format of the API. `cached_tokens` is always present and at most `prompt_tokens`. */
export function viewUsage(usage: GenerationUsage): Usage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(usage.cachedTokens, usage.promptTokens) },
  };
}

/** Value of `X-Cache-Status`: HIT when any prompt token came from the prefix cache. */
export function cacheStatus(cachedTokens: number | null): 'HIT' | 'MISS' {
  return cachedTokens !== null && cachedTokens > 0 ? 'HIT' : 'MISS';
}
