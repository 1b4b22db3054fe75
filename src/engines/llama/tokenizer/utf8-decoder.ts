/** Joins the bytes of tokens into text that never ends within a character. */
export class Utf8Decoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /**
   * The characters that `bytes` completes: empty while one is unfinished. Bytes that are no UTF-8 become U+FFFD.
   * What is unfinished when the answer ends is dropped by not asking for it.
   */
  push(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }
}
