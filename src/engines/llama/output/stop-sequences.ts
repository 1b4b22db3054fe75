/** What a piece of text led to: what may be shown, and which text was found, with what came after it. */
export interface Scanned {
  /** May be shown: no part of it can belong to one of the texts that are looked for. */
  clear: string;
  /** The text that was found, or null. */
  found: string | null;
  /** What follows the found text. Empty when nothing was found. */
  rest: string;
}

/**
 * Looks for the first of several texts in a stream, wherever its pieces are cut. The first is the one that is complete
 * first, the longer of two that end together; so the answer does not depend on how the model cut its tokens.
 */
export class TextScanner {
  readonly #wanted: readonly string[];
  #held = '';

  /** `wanted`: texts that are not empty. `held`: what another scanner held back, in which none of them is complete. */
  constructor(wanted: readonly string[], held = '') {
    this.#wanted = wanted.filter((text) => text !== '');
    this.#held = held;
  }

  /** What was held back so far because it may be the beginning of a wanted text. */
  get held(): string {
    return this.#held;
  }

  push(piece: string): Scanned {
    const text = this.#held + piece;
    const hit = this.#firstIn(text);
    if (hit !== null) {
      this.#held = '';
      return { clear: text.slice(0, hit.start), found: hit.text, rest: text.slice(hit.start + hit.text.length) };
    }
    const held = this.#possibleBeginning(text);
    this.#held = text.slice(text.length - held);
    return { clear: text.slice(0, text.length - held), found: null, rest: '' };
  }

  /** Ends the stream: what was held back turned out to be ordinary text. */
  release(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  #firstIn(text: string): { start: number; text: string } | null {
    let best: { start: number; text: string } | null = null;
    for (const wanted of this.#wanted) {
      const start = text.indexOf(wanted);
      if (start < 0) continue;
      const end = start + wanted.length;
      const bestEnd = best === null ? Number.POSITIVE_INFINITY : best.start + best.text.length;
      if (end < bestEnd || (end === bestEnd && wanted.length > (best?.text.length ?? 0)))
        best = { start, text: wanted };
    }
    return best;
  }

  /** Characters at the end of `text` that may be the beginning of a wanted text. */
  #possibleBeginning(text: string): number {
    let longest = 0;
    for (const wanted of this.#wanted) {
      for (let length = Math.min(wanted.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(wanted.slice(0, length))) {
          longest = length;
          break;
        }
      }
    }
    return longest;
  }
}
