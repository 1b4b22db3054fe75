import type { Deps } from '../deps.ts';
import type { GenerationUsage } from '../engines/engine.ts';
import { modelBackend } from '../engines/registry.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { Admission } from './admission.ts';
import { type Notices, noticeHeaders } from './moderation-notice.ts';
import type { Usage } from './parameters.ts';

/** Fields that a completion shares with each chunk of its stream. */
export interface CompletionHead {
  /** Unix seconds. */
  created: number;
  model: string;
  system_fingerprint: string;
}

/** Creates the head of a completion that begins now. */
export function newHead(deps: Pick<Deps, 'now'>, { model }: Admission): CompletionHead {
  const backend = modelBackend(model);
  return {
    created: toUnixSeconds(deps.now()),
    model: model.id,
    system_fingerprint: `${backend.engine}:${backend.model}`,
  };
}

/** Usage in the format of the API. Cached and reasoning tokens are always present. */
export function viewUsage(usage: GenerationUsage): Usage {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { ...usage.promptDetails, cached_tokens: Math.min(usage.cachedTokens, usage.promptTokens) },
    completion_tokens_details: { ...usage.completionDetails, reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}

/**
 * Headers of a generation: `X-Cache-Status` is HIT if any prompt token came from the prefix cache. Null: not yet known.
 */
export function generationHeaders(cachedTokens: number | null, notices: Notices): Record<string, string> {
  return { 'x-cache-status': (cachedTokens ?? 0) > 0 ? 'HIT' : 'MISS', ...noticeHeaders(notices) };
}
