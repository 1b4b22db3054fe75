import type { Deps } from '../deps.ts';
import type { ModerationEngine } from '../engines/moderation-engine.ts';
import type { ModelLookup } from '../engines/registry.ts';
import { engineUnavailable } from '../errors.ts';
import { KINDS } from './call-kinds.ts';

/** A policy waits this long for the moderation model. */
const TIMEOUT_MS = 30_000;
const RETRY_SECONDS = 5;

/** Scores texts with the default moderation model for content policies. The calls are not metered. */
export function policyScorer(models: ModelLookup): Deps['scoreTexts'] {
  return async (texts, organizationId) => {
    // The registry holds whole engines; `ModelView` hides the methods that compute from everything but `inference/`.
    const engine = models.get(KINDS.moderation.defaultModel ?? '')?.moderation as ModerationEngine | undefined;
    if (engine === undefined) throw engineUnavailable('No moderation model is bound.', RETRY_SECONDS);
    const { scores } = await engine.moderate(texts, AbortSignal.timeout(TIMEOUT_MS), organizationId);
    return scores;
  };
}
