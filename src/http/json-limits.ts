import { invalidValue } from '../errors.ts';

/** Maximum JSON values in one body. Parsing and checking them takes about 30 ms; real requests have thousands. */
export const MAX_JSON_VALUES = 100_000;
/** Maximum bytes of all member names in one body. V8 interns names, at ten times the cost of other strings. */
export const MAX_NAME_BYTES = 4 * 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/**
 * Counts values and bytes of member names of a JSON text while it arrives, before it is parsed: one pass, about 1.5 ns
 * per byte. The count is an upper bound (an empty container counts as two values). Does not validate; `JSON.parse`
 * does.
 */
export class JsonLimits {
  #values = 1;
  #nameBytes = 0;
  #stringBytes = 0;
  #isInString = false;
  #isEscaped = false;

  /** Scans the next bytes. Throws 400 `invalid_value` above either limit. */
  scan(bytes: Uint8Array): void {
    // Local variables: property access would double the time of this loop.
    let [values, nameBytes, stringBytes] = [this.#values, this.#nameBytes, this.#stringBytes];
    let [isInString, isEscaped] = [this.#isInString, this.#isEscaped];
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (isInString) {
        stringBytes += 1;
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) {
        isInString = true;
        stringBytes = 0;
      } else if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) values += 1;
      else if (byte === COLON) nameBytes += stringBytes;
    }
    [this.#values, this.#nameBytes, this.#stringBytes] = [values, nameBytes, stringBytes];
    [this.#isInString, this.#isEscaped] = [isInString, isEscaped];
    if (values > MAX_JSON_VALUES) throw invalidValue('body', `must not hold more than ${MAX_JSON_VALUES} JSON values`);
    if (nameBytes > MAX_NAME_BYTES) {
      throw invalidValue('body', `must not hold more than ${MAX_NAME_BYTES} bytes of member names`);
    }
  }
}
