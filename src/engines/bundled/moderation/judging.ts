import type { Moderation, ModerationCategory, ModerationScores } from '../../moderation-engine.ts';
import { MODERATION_CATEGORIES } from '../../moderation-engine.ts';
import { PIECE_CHARACTERS, pieceFrom } from './pieces.ts';

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
  readonly #scores: number[][];
  #tokens = 0;

  constructor(texts: readonly string[]) {
    const { promise, resolve, reject } = Promise.withResolvers<Moderation>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#texts = texts;
    this.#scores = texts.map(() => []);
    this.characters = texts.reduce((sum, text) => sum + text.length, 0);
  }

  /** Whether all of it has been handed out. */
  get isHandedOut(): boolean {
    return this.#text === this.#texts.length;
  }

  /** The next texts for the thread: as many pieces as make up one of full length, one at least. */
  portion(): string[] {
    const pieces: string[] = [];
    this.#out = [];
    for (let characters = 0; !this.isHandedOut && pieces.length < PORTION_PIECES; ) {
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

  /** Takes what came of the portion that is out: of a text in pieces the highest score of any counts. */
  take(scores: readonly (readonly number[])[], tokens: number): void {
    this.#tokens += tokens;
    for (const [i, text] of this.#out.entries()) {
      const before = this.#scores[text] ?? [];
      this.#scores[text] = (scores[i] ?? []).map((score, category) => Math.max(score, before[category] ?? 0));
    }
    this.#out = [];
  }

  /** Resolves the promise; `places[category]` says where a category's score stands. */
  finish(places: Readonly<Record<ModerationCategory, number>>): void {
    const scores = this.#scores.map((all) => named((category) => all[places[category]] ?? 0));
    this.#resolve({ scores, tokens: this.#tokens });
    this.#letGo();
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
