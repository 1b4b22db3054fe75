import type { GenerationUsage } from '../engines/engine.ts';

/** Usage records hold 32-bit integers. */
const MAX_TOKENS = 2_147_483_647;

/**
 * Returns usage that can be billed, whatever an engine or upstream reported: integers in 0..MAX_TOKENS, and at most
 * `promptTokens` cached and `completionTokens` reasoning tokens. NaN and infinities count as 0.
 */
export function clampUsage(reported: GenerationUsage): GenerationUsage {
  const promptTokens = clampCount(reported.promptTokens);
  const completionTokens = clampCount(reported.completionTokens);
  const { reasoningTokens, promptDetails, completionDetails } = reported;
  return {
    promptTokens,
    cachedTokens: Math.min(clampCount(reported.cachedTokens), promptTokens),
    completionTokens,
    ...(reasoningTokens !== undefined && { reasoningTokens: Math.min(clampCount(reasoningTokens), completionTokens) }),
    ...(promptDetails && { promptDetails }),
    ...(completionDetails && { completionDetails }),
  };
}

function clampCount(reported: number): number {
  return Number.isFinite(reported) ? Math.min(Math.max(0, Math.floor(reported)), MAX_TOKENS) : 0;
}
