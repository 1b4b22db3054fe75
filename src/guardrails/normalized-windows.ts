import type { TopicMatch, TopicMatcher } from './topic-matcher.ts';

/** Characters that are normalized and matched at a time: about a millisecond. */
const WINDOW_CHARACTERS = 32_768;
/** Characters on both sides of a cut by which it is checked, and positions that are tried. */
const CUT_CONTEXT = 32;
const CUT_ATTEMPTS = 256;

/**
 * Matches topics in a text window by window, so that a long text does not stall other calls. The end of a window is
 * matched again with the next one: every match is found, however many invisible characters or blanks it has.
 */
export class NormalizedWindows {
  readonly #text: string;
  readonly #matcher: TopicMatcher;
  /** Offset in the text up to which windows are made. */
  #at = 0;
  /** The normalized window, which begins with the end of the one before, and its offset in the normalized text. */
  #window = '';
  #start = 0;

  constructor(text: string, matcher: TopicMatcher) {
    this.#text = text;
    this.#matcher = matcher;
  }

  /** Whether the current window is the last one. */
  get isLast(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Moves to the next window. Returns false after the last one. */
  next(): boolean {
    if (this.isLast) return false;
    const end = this.#findCut(this.#at + WINDOW_CHARACTERS);
    const normalized = this.#matcher.normalize(this.#text.slice(this.#at, end));
    // One character more on each side decides about a word, and each can be a pair of surrogates.
    const repeated = this.#window.slice(-(this.#matcher.longest + 4));
    this.#start += this.#window.length - repeated.length;
    this.#window = join(repeated, normalized);
    this.#at = end;
    return true;
  }

  /** Yields the matches of the current window, with offsets in the whole normalized text. */
  *match(): Generator<TopicMatch> {
    for (const { index, start, end } of this.#matcher.match(this.#window)) {
      // A match at a border is complete in the neighbouring window.
      const isCut = (this.#start > 0 && start < 2) || (!this.isLast && end > this.#window.length - 2);
      if (!isCut) yield { index, start: this.#start + start, end: this.#start + end };
    }
  }

  /** The last position up to `limit` where a cut does not change the normalized text; else `limit`. */
  #findCut(limit: number): number {
    if (limit >= this.#text.length) return this.#text.length;
    const { normalize } = this.#matcher;
    for (let cut = limit; cut > limit - CUT_ATTEMPTS; cut -= 1) {
      const before = this.#text.slice(cut - CUT_CONTEXT, cut);
      const after = this.#text.slice(cut, cut + CUT_CONTEXT);
      if (normalize(before + after) === join(normalize(before), normalize(after))) return cut;
    }
    return limit;
  }
}

/** Joins two normalized texts: white space on both sides is one space. */
const join = (before: string, after: string): string =>
  before.endsWith(' ') && after.startsWith(' ') ? before + after.slice(1) : before + after;
