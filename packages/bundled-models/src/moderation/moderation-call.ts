import { windowAt } from '../text-windows.ts';

/**
 * Windows of a long text: some milliseconds of work, 0.1 s when every word is unknown. They share more than the 128
 * words that the model sees together.
 */
const WINDOW = { characters: 32_768, overlap: 2_048 };
/** Windows of a portion, so that many short texts do not cost a message each. */
const PORTION_WINDOWS = 128;

/** The result of a portion: the scores of each window, by category, and the tokens of all windows. */
export interface ModerationPortionResult {
  scores: number[][];
  tokens: number;
}

/** A moderation request that is processed in portions of windows. */
export class ModerationCall {
  characters: number;
  readonly #texts: readonly string[];
  /** Position of the next window: index of the text, and offset in it. */
  #text = 0;
  #offset = 0;
  /** Index of the text of each window in the current portion. */
  #textOfWindow: number[] = [];
  readonly #scores: number[][] = [];
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

  /** Adds the result of the current portion. After the last one, returns the highest window score of each text. */
  take({ scores, tokens }: ModerationPortionResult): ModerationPortionResult | null {
    this.#tokens += tokens;
    for (const [i, text] of this.#textOfWindow.entries()) {
      const earlier = this.#scores[text];
      this.#scores[text] = (scores[i] ?? []).map((score, category) => Math.max(score, earlier?.[category] ?? 0));
    }
    return this.#isLastPortion ? { scores: this.#scores, tokens: this.#tokens } : null;
  }
}
