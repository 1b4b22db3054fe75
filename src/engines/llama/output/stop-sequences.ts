/** Result of scanning a fragment. */
export interface ScanResult {
  /** Text that cannot be part of a match. */
  clear: string;
  /** The matched sequence, or null. */
  found: string | null;
  /** Text behind the match; empty without a match. */
  rest: string;
}

/**
 * Finds the first of several strings in a stream of fragments: the one that is complete first, the longer of two that
 * end together. The result does not depend on how the tokens split the text.
 */
export class TextScanner {
  readonly #sequences: readonly string[];
  #pending = '';

  /** Non-empty strings to find. `held`: text that another scanner has buffered, without a complete match. */
  constructor(wanted: readonly string[], held = '') {
    this.#sequences = wanted.filter((text) => text !== '');
    this.#pending = held;
  }

  /** Text that is buffered because it may be the start of a match. */
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

  /** Ends the stream: returns the buffered text, which is ordinary text. */
  release(): string {
    const held = this.#pending;
    this.#pending = '';
    return held;
  }

  #firstMatch(text: string): { start: number; text: string } | null {
    let best: { start: number; text: string } | null = null;
    for (const sequence of this.#sequences) {
      const start = text.indexOf(sequence);
      if (start < 0) continue;
      const end = start + sequence.length;
      const bestEnd = best === null ? Number.POSITIVE_INFINITY : best.start + best.text.length;
      if (end < bestEnd || (end === bestEnd && sequence.length > (best?.text.length ?? 0)))
        best = { start, text: sequence };
    }
    return best;
  }

  /** Length of the suffix of `text` that may be the start of a match. */
  #partialMatchLength(text: string): number {
    let longest = 0;
    for (const sequence of this.#sequences) {
      for (let length = Math.min(sequence.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(sequence.slice(0, length))) {
          longest = length;
          break;
        }
      }
    }
    return longest;
  }
}
