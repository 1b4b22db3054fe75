/** Joins pieces of a text so that none ends within a character: half of a surrogate pair waits for the other half. */
export class SurrogateBuffer {
  #pendingSurrogate = '';

  /** The text that is whole now; empty when `piece` is only a half. */
  add(piece: string): string {
    if (piece === '') return piece;
    let text = this.#pendingSurrogate === '' ? piece : this.#pendingSurrogate + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#pendingSurrogate = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    if (this.#pendingSurrogate !== '') text = text.slice(0, -1);
    return text.isWellFormed() ? text : text.toWellFormed();
  }

  /** What still waits, whose other half never came. */
  end(): string {
    const aborted = this.#pendingSurrogate.toWellFormed();
    this.#pendingSurrogate = '';
    return aborted;
  }
}
