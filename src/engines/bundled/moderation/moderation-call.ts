import {
  MODERATION_CATEGORIES,
  type Moderation,
  type ModerationCategory,
  type ModerationScores,
} from '../../moderation-engine.ts';
import type { PortionedCall } from '../shared-thread.ts';
import { windowAt } from '../text-windows.ts';

/**
 * Windows of a long text: some milliseconds of work, 0.1 s when every word is unknown. They share more than the 128 words that the model
 * sees together.
 */
const WINDOW = { characters: 32_768, overlap: 2_048 };
/** Windows of a portion, so that many short texts do not cost a message each. */
const PORTION_WINDOWS = 128;

/** The result of a portion: scores per window, and tokens of all windows. */
export interface ModerationPortionResult {
  scores: ModerationScores[];
  tokens: number;
}

/** A moderation request that is processed in portions of windows. */
export class ModerationCall implements PortionedCall<string[], ModerationPortionResult, Moderation> {
  characters: number;
  readonly #texts: readonly string[];
  /** Position of the next window: index of the text, and offset in it. */
  #text = 0;
  #offset = 0;
  /** Index of the text of each window in the current portion. */
  #textOfWindow: number[] = [];
  readonly #scores: ModerationScores[] = [];
  #tokens = 0;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.characters = texts.reduce((sum, text) => sum + text.length, 0);
  }

  get #isLastPortion(): boolean {
    return this.#text === this.#texts.length;
  }

  portion(): string[] {
    const windows: string[] = [];
    this.#textOfWindow = [];
    for (let characters = 0; !this.#isLastPortion && windows.length < PORTION_WINDOWS; ) {
      const { text, next } = windowAt(this.#texts[this.#text] ?? '', this.#offset, WINDOW);
      if (windows.length > 0 && characters + text.length > WINDOW.characters) break;
      characters += text.length;
      this.characters -= next === null ? text.length : next - this.#offset;
      windows.push(text);
      this.#textOfWindow.push(this.#text);
      this.#offset = next ?? 0;
      if (next === null) this.#text++;
    }
    return windows;
  }

  /** The scores of a text are the highest of its windows. */
  take({ scores, tokens }: ModerationPortionResult): Moderation | null {
    this.#tokens += tokens;
    for (const [i, text] of this.#textOfWindow.entries()) {
      const earlier = this.#scores[text];
      this.#scores[text] = mapCategories((category) => Math.max(scores[i]?.[category] ?? 0, earlier?.[category] ?? 0));
    }
    return this.#isLastPortion ? { scores: this.#scores, tokens: this.#tokens } : null;
  }
}

/** Builds an object with a value per category. */
export function mapCategories(scoreOf: (category: ModerationCategory) => number): ModerationScores {
  return Object.fromEntries(MODERATION_CATEGORIES.map((category) => [category, scoreOf(category)])) as ModerationScores;
}
