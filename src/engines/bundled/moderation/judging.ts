import type { Moderation, ModerationCategory, ModerationScores } from '../../moderation-engine.ts';
import { MODERATION_CATEGORIES } from '../../moderation-engine.ts';
import { PIECE_CHARACTERS, pieceFrom } from './pieces.ts';
import type { Judged } from './thread.ts';

/** Pieces that go to the thread at once, so that many short texts do not cost a message each. */
const PORTION_PIECES = 128;

/** One call on its way through the thread: handed out in portions, and put together again. */
export class Judging {
  readonly promise: Promise<Moderation>;
  /** Characters that have not been handed out yet. */
  characters: number;
  readonly #resolve: (moderation: Moderation) => void;
  readonly #reject: (reason: unknown) => void;
  #texts: readonly string[];
  /** The text and the place in it from which the next portion goes on. */
  #text = 0;
  #at = 0;
  /** For each piece of the portion that is out, the text it is of. */
  #out: number[] = [];
  readonly #scores: ModerationScores[] = [];
  #tokens = 0;

  constructor(texts: readonly string[]) {
    const { promise, resolve, reject } = Promise.withResolvers<Moderation>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#texts = texts;
    this.characters = texts.reduce((sum, text) => sum + text.length, 0);
  }

  get #isHandedOut(): boolean {
    return this.#text === this.#texts.length;
  }

  /** The next texts for the thread: as many pieces as make up one of full length, one at least. */
  portion(): string[] {
    const pieces: string[] = [];
    this.#out = [];
    for (let characters = 0; !this.#isHandedOut && pieces.length < PORTION_PIECES; ) {
      const { text, next } = pieceFrom(this.#texts[this.#text] ?? '', this.#at);
      if (pieces.length > 0 && characters + text.length > PIECE_CHARACTERS) break;
      characters += text.length;
      this.characters -= next === null ? text.length : next - this.#at;
      pieces.push(text);
      this.#out.push(this.#text);
      this.#at = next ?? 0;
      if (next === null) this.#text++;
    }
    return pieces;
  }

  /**
   * Takes what came of the portion that is out: of a text in pieces the highest score of any counts. Resolves the promise
   * when that was the last, and says whether it was.
   */
  take({ scores, tokens }: Judged): boolean {
    this.#tokens += tokens;
    for (const [i, text] of this.#out.entries()) {
      const before = this.#scores[text];
      this.#scores[text] = named((category) => Math.max(scores[i]?.[category] ?? 0, before?.[category] ?? 0));
    }
    this.#out = [];
    if (!this.#isHandedOut) return false;
    this.#resolve({ scores: this.#scores, tokens: this.#tokens });
    this.#letGo();
    return true;
  }

  /** Rejects the promise, and lets go of the texts. */
  fail(reason: unknown): void {
    this.#reject(reason);
    this.#letGo();
  }

  #letGo(): void {
    this.#texts = [];
    this.#text = 0;
    this.characters = 0;
  }
}

/** A score for each category. */
export function named(scoreOf: (category: ModerationCategory) => number): ModerationScores {
  return Object.fromEntries(MODERATION_CATEGORIES.map((category) => [category, scoreOf(category)])) as ModerationScores;
}
