/** The port of the engines that judge texts. Every implementation passes `test/moderation-conformance.ts`. */
import type { Backend } from './engine.ts';

/** What texts are judged for. */
export const MODERATION_CATEGORIES = ['harassment', 'hate', 'self_harm', 'sexual', 'violence'] as const;

/** One of `MODERATION_CATEGORIES`. */
export type ModerationCategory = (typeof MODERATION_CATEGORIES)[number];

/** For each category how sure the model is that the text is of it, 0 to 1; 0.5 is where it is meant to be flagged. */
export type ModerationScores = Readonly<Record<ModerationCategory, number>>;

/** What came of one call. */
export interface Moderation {
  /** One of each text, in the order of the texts. */
  scores: ModerationScores[];
  /** Tokens that were read, as the engine counts them. */
  tokens: number;
}

/**
 * A runtime that judges texts with one model.
 *
 * Errors are `ApiError`s: 400 `invalid_value` (param `input`) for what a server behind it does not take, 503
 * `engine_unavailable`. An aborted signal ends a call by throwing its reason, at once, and frees what it held.
 */
export interface ModerationEngine {
  /** Never waits: what is known now. */
  backend(): Backend;
  /**
   * Scores texts of any length; a text without words scores 0. The same text scores the same beside any others. `scope`:
   * the organization that the queue is shared fairly by; absent for work of the service itself.
   */
  moderate(texts: readonly string[], signal: AbortSignal, scope?: string): Promise<Moderation>;
  /** Resolves when the engine could answer now; otherwise throws an Error with a sentence for the operator. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends waiting calls with 503 and frees the runtime. May be called twice. */
  close(): Promise<void>;
}
