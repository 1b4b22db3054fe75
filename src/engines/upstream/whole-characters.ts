/** Joins pieces of a text so that none ends within a character: half of a surrogate pair waits for the other half. */
export class WholeCharacters {
  #half = '';

  /** The text that is whole now; empty when `piece` is only a half. */
  add(piece: string): string {
    if (piece === '') return piece;
    let text = this.#half === '' ? piece : this.#half + piece;
    const last = text.charCodeAt(text.length - 1);
    this.#half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    if (this.#half !== '') text = text.slice(0, -1);
    return text.isWellFormed() ? text : text.toWellFormed();
  }

  /** What still waits, whose other half never came. */
  end(): string {
    const left = this.#half.toWellFormed();
    this.#half = '';
    return left;
  }
}
