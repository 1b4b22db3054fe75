/** Placeholder of a serial number in prepared bytes. */
export const SERIAL_PLACEHOLDER = '#00000000';

/** Prepared bytes whose serial number changes with every use, so that no text repeats and no cache answers for it. */
export class NumberedBytes {
  readonly #bytes: Buffer;
  readonly #at: number;
  static #next = 1;

  /** `bytes` contain `SERIAL_PLACEHOLDER`. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = bytes.lastIndexOf(SERIAL_PLACEHOLDER) + 1;
    if (this.#at === 0) throw new Error('the bytes have no place for a serial number');
  }

  /** Returns a copy with the next number of this process. */
  next(): Buffer {
    const digits = String(NumberedBytes.#next++).padStart(SERIAL_PLACEHOLDER.length - 1, '0');
    const numbered = Buffer.from(this.#bytes);
    numbered.write(digits, this.#at, 'latin1');
    return numbered;
  }
}
