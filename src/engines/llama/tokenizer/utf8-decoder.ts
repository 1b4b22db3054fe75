/** Decodes the bytes of tokens to text that never ends within a character. */
export class Utf8Decoder {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #pendingBytes = 0;

  /** Whether the bytes so far end at a character boundary. */
  get isComplete(): boolean {
    return this.#pendingBytes <= 0;
  }

  /**
   * Returns the characters that `bytes` completes; empty while one is incomplete. Invalid bytes become U+FFFD. An
   * incomplete character at the end of a completion is dropped.
   */
  push(bytes: Uint8Array): string {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#pendingBytes += bytes.length - Buffer.byteLength(text);
    return text;
  }
}
