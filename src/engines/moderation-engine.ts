/** Port of moderation engines. Every implementation passes `test/moderation-conformance.ts`. */
import type { Backend } from './engine.ts';

/** Categories of harm. */
export const MODERATION_CATEGORIES = ['harassment', 'hate', 'self_harm', 'sexual', 'violence'] as const;

/** One of `MODERATION_CATEGORIES`. */
export type ModerationCategory = (typeof MODERATION_CATEGORIES)[number];

/** Makes a value for each category, in their order. */
export function mapCategories<T>(
  make: (category: ModerationCategory, index: number) => T,
): Record<ModerationCategory, T> {
  const entries = MODERATION_CATEGORIES.map((category, index) => [category, make(category, index)]);
  return Object.fromEntries(entries) as Record<ModerationCategory, T>;
}

/** Score of each category, 0 to 1. Calibrated to a threshold of 0.5. */
export type ModerationScores = Readonly<Record<ModerationCategory, number>>;

/** Result of one call. */
export interface Moderation {
  /** One entry per text, in order. */
  scores: ModerationScores[];
  /** Processed tokens, as the engine counts them. */
  tokens: number;
  /** Time that the call waited in the queue of the engine, in milliseconds. Absent: none. */
  queueMs?: number;
}

/**
 * A runtime that scores texts for harm with one model.
 *
 * Errors are `ApiError`s: 400 `invalid_value` (param `input`) for input that an upstream rejects, 503
 * `engine_unavailable`. An aborted signal ends a call immediately by throwing its reason, and frees its resources.
 */
export interface ModerationEngine {
  /** Returns the last known state, without I/O. */
  backend(): Backend;
  /**
   * Scores texts of any length; a text without words scores 0. Scores do not depend on the other texts. `scope`: the
   * organization, for fair queueing; absent for work of the service itself.
   */
  moderate(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<Moderation>;
  /** Health check: resolves when the engine responds. Throws an Error with a message for operators otherwise. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. Idempotent. */
  close(): Promise<void>;
}
