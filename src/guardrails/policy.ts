import {
  MODERATION_CATEGORIES,
  type ModerationCategory,
  type ModerationScores,
  mapCategories,
} from '../engines/moderation-engine.ts';
import type { PolicyStage } from '../lib/screen.ts';
import type { TopicRule } from './topic-matcher.ts';

/** Score at which a category is flagged, by category. */
export type Thresholds = Readonly<Record<ModerationCategory, number>>;

/** Threshold of a category that the policy does not set. */
export const DEFAULT_THRESHOLD = 0.5;
/** A category with this threshold is never flagged, not even at a score of 1. */
export const DISABLED_THRESHOLD = 1;

/** Threshold of every category. Categories that are absent or null get the default. */
export function resolveThresholds(thresholds: Partial<Record<ModerationCategory, number | null>>): Thresholds {
  return mapCategories((category) => thresholds[category] ?? DEFAULT_THRESHOLD);
}

/** Whether a policy needs scores at all. */
export function needsScores(thresholds: Thresholds): boolean {
  return MODERATION_CATEGORIES.some((category) => thresholds[category] < DISABLED_THRESHOLD);
}

/** Whether a policy applies to the input, or the output, of a call. */
export function appliesTo({ applyTo }: { applyTo: readonly (PolicyStage | 'both')[] }, stage: PolicyStage): boolean {
  return applyTo.includes(stage) || applyTo.includes('both');
}

/** What a policy decides about a text. `reasons` is empty for `pass`. */
export interface Decision {
  action: 'pass' | 'warn' | 'block';
  /** One sentence for each category and topic, for the caller. They quote the policy and never the text. */
  reasons: string[];
}

/**
 * Decides about one text. Scores of null: the policy needs none. A topic with the action `warn` never blocks; all else
 * blocks when `blockOnFlag` is true.
 */
export function decide(
  policy: { thresholds: Thresholds; blockOnFlag: boolean },
  scores: ModerationScores | null,
  topics: readonly TopicRule[],
): Decision {
  const categories = MODERATION_CATEGORIES.filter((category) => {
    const threshold = policy.thresholds[category];
    return scores !== null && threshold < DISABLED_THRESHOLD && scores[category] >= threshold;
  });
  const reasons = [
    ...categories.map((category) => `category '${category}' scored ${percent(scores?.[category])} of 100`),
    ...topics.map(({ topic, action }) => `topic '${topic}' (${action})`),
  ];
  if (reasons.length === 0) return { action: 'pass', reasons };
  const blocks = categories.length > 0 || topics.some(({ action }) => action === 'block');
  return { action: policy.blockOnFlag && blocks ? 'block' : 'warn', reasons };
}

const percent = (score = 0): number => Math.round(score * 100);
