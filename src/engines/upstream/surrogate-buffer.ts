/**
 * Buffers the first half of a surrogate pair until the second one arrives, so that no fragment ends within a character.
 */
export class SurrogateBuffer {
  #pendingSurrogate = '';

  /** Returns the complete text; empty when `piece` is only a half. */
  add(piece: string): string {
    if (piece === '') return piece;
    let text = this.#pendingSurrogate === '' ? piece : this.#pendingSurrogate + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#pendingSurrogate = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    if (this.#pendingSurrogate !== '') text = text.slice(0, -1);
    return text.isWellFormed() ? text : text.toWellFormed();
  }

  /** Returns an incomplete pair at the end of the text as U+FFFD. */
  end(): string {
    const aborted = this.#pendingSurrogate.toWellFormed();
    this.#pendingSurrogate = '';
    return aborted;
  }
}
