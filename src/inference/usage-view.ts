import type { GenerationUsage } from '../engines/engine.ts';
import type { Usage } from './parameters.ts';

/** Usage as the wire shows it. `cached_tokens` is always there, and never more than the prompt had. */
export function viewUsage(usage: GenerationUsage): Usage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: Math.min(usage.cachedTokens, usage.promptTokens) },
  };
}

/** The header `X-Cache-Status`: whether any prompt token came from the cache. */
export function cacheStatus(cachedTokens: number | null): 'HIT' | 'MISS' {
  return cachedTokens !== null && cachedTokens > 0 ? 'HIT' : 'MISS';
}
