import type { Moderation, ModerationCategory, ModerationScores } from '../../moderation-engine.ts';
import { MODERATION_CATEGORIES } from '../../moderation-engine.ts';
import type { PortionedCall } from '../shared-thread.ts';
import { PIECE_CHARACTERS, pieceFrom } from './pieces.ts';

/** Pieces that go to the thread at once, so that many short texts do not cost a message each. */
const PORTION_PIECES = 128;

/** What came of a portion: the scores of each text, and the tokens of all. */
export interface Judged {
  scores: ModerationScores[];
  tokens: number;
}

/** One call on its way through the thread. */
export class Judging implements PortionedCall<string[], Judged, Moderation> {
  characters: number;
  readonly #texts: readonly string[];
  /** The text and the place in it from which the next portion goes on. */
  #text = 0;
  #at = 0;
  /** For each piece of the portion that is out, the text it is of. */
  #out: number[] = [];
  readonly #scores: ModerationScores[] = [];
  #tokens = 0;

  constructor(texts: readonly string[]) {
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

  /** Of a text in pieces the highest score of any counts. */
  take({ scores, tokens }: Judged): Moderation | null {
    this.#tokens += tokens;
    for (const [i, text] of this.#out.entries()) {
      const before = this.#scores[text];
      this.#scores[text] = named((category) => Math.max(scores[i]?.[category] ?? 0, before?.[category] ?? 0));
    }
    return this.#isHandedOut ? { scores: this.#scores, tokens: this.#tokens } : null;
  }
}

/** A score for each category. */
export function named(scoreOf: (category: ModerationCategory) => number): ModerationScores {
  return Object.fromEntries(MODERATION_CATEGORIES.map((category) => [category, scoreOf(category)])) as ModerationScores;
}
