/** What a piece of text led to: what may be shown, and which text was found, with what came after it. */
export interface ScanResult {
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
  readonly #sequences: readonly string[];
  #pending = '';

  /** `wanted`: texts that are not empty. `held`: what another scanner held back, in which none of them is complete. */
  constructor(wanted: readonly string[], held = '') {
    this.#sequences = wanted.filter((text) => text !== '');
    this.#pending = held;
  }

  /** What was held back so far because it may be the beginning of a wanted text. */
  get held(): string {
    return this.#pending;
  }

  push(piece: string): ScanResult {
    const text = this.#pending + piece;
    const hit = this.#firstMatch(text);
    if (hit !== null) {
      this.#pending = '';
      return { clear: text.slice(0, hit.start), found: hit.text, rest: text.slice(hit.start + hit.text.length) };
    }
    const held = this.#partialMatchLength(text);
    this.#pending = text.slice(text.length - held);
    return { clear: text.slice(0, text.length - held), found: null, rest: '' };
  }

  /** Ends the stream: what was held back turned out to be ordinary text. */
  release(): string {
    const held = this.#pending;
    this.#pending = '';
    return held;
  }

  #firstMatch(text: string): { start: number; text: string } | null {
    let best: { start: number; text: string } | null = null;
    for (const wanted of this.#sequences) {
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
  #partialMatchLength(text: string): number {
    let longest = 0;
    for (const wanted of this.#sequences) {
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
