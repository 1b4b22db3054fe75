import type { GenerationUsage } from '../engines/engine.ts';

/** Usage records hold 32-bit integers. No model reads or writes as many tokens in one call. */
const MAX_TOKENS = 2_147_483_647;

/**
 * Usage that can be billed, whatever an engine or the server behind it said: whole numbers, none below zero, and no more
 * cached tokens than the prompt has. What is no finite number counts as 0.
 */
export function soundUsage(told: GenerationUsage): GenerationUsage {
  const promptTokens = soundCount(told.promptTokens);
  return {
    promptTokens,
    cachedTokens: Math.min(soundCount(told.cachedTokens), promptTokens),
    completionTokens: soundCount(told.completionTokens),
  };
}

function soundCount(told: number): number {
  return Number.isFinite(told) ? Math.min(Math.max(0, Math.floor(told)), MAX_TOKENS) : 0;
}
