/** Decodes the bytes of tokens to text that never ends within a character. */
export class Utf8Decoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /**
   * Returns the characters that `bytes` completes; empty while one is incomplete. Invalid bytes become U+FFFD. An
   * incomplete character at the end of a completion is dropped.
   */
  push(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }
}
