/** Parser states: what the next byte belongs to. The last four are states in which a number may end. */
const State = {
  lineStart: 0,
  lineEnd: 1,
  value: 2,
  firstValue: 3,
  firstKey: 4,
  key: 5,
  colon: 6,
  afterValue: 7,
  string: 8,
  escape: 9,
  hex: 10,
  literal: 11,
  minus: 12,
  point: 13,
  exponent: 14,
  exponentSign: 15,
  zero: 16,
  integer: 17,
  fraction: 18,
  exponentDigits: 19,
} as const;

const NUMBER_MAY_END = State.zero;
const LF = 10;
const CR = 13;
const SPACE = 32;
const TAB = 9;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
/** Characters allowed after a backslash: `"`, `\`, `/`, b, f, n, r, t. `u` is followed by hexadecimal digits. */
const ESCAPED: ReadonlySet<number> = new Set([34, 92, 47, 98, 102, 110, 114, 116]);
const LETTER_U = 117;
const LITERALS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** Maximum nesting, as for request bodies: deeper values overflow the stack of later readers. */
const MAX_DEPTH = 128;

/**
 * Streaming validator of JSON Lines: every non-blank line must be a JSON object (RFC 8259). Buffers no bytes, so memory
 * and the time per chunk do not depend on line lengths; `JSON.parse` would need a buffer of 16 MiB for each upload.
 * Does not check UTF-8.
 */
export class JsonLines {
  readonly #maxLineBytes: number;
  #state: number = State.lineStart;
  /** Stack of open brackets: 1 for objects, 0 for arrays. */
  readonly #isObject = new Uint8Array(MAX_DEPTH);
  #depth = 0;
  #isKey = false;
  #hexLeft = 0;
  #literal: Buffer = BYTE_ORDER_MARK;
  #literalAt = 0;
  #line = 1;
  #lineBytes = 0;
  #objects = 0;
  #defect: string | null = null;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Validates the next bytes. Returns the first defect, such as `line 3 is not a JSON object`, or null. */
  push(bytes: Uint8Array): string | null {
    for (let at = 0; at < bytes.length && this.#defect === null; at += 1) {
      if (this.#state === State.string) {
        // Fast path: most bytes of a file are inside strings.
        const start = at;
        at = findStringEnd(bytes, start);
        this.#lineBytes += at - start;
      }
      const byte = bytes[at];
      if (byte !== undefined) this.#consume(byte);
      if (this.#lineBytes > this.#maxLineBytes) this.#fail(`has more than ${this.#maxLineBytes} bytes`);
    }
    return this.#defect;
  }

  /** Ends the input. Returns the first defect, or null. */
  end(): string | null {
    if (this.#defect === null && this.#lineBytes > 0) this.#endLine();
    if (this.#defect === null && this.#objects === 0) this.#defect = 'it has only blank lines';
    return this.#defect;
  }

  #consume(byte: number): void {
    if (byte === LF) {
      this.#endLine();
      return;
    }
    this.#lineBytes += 1;
    if (this.#state !== State.string) this.#step(byte);
    else if (byte === QUOTE) this.#state = this.#isKey ? State.colon : State.afterValue;
    else this.#expect(byte === BACKSLASH, State.escape);
  }

  #fail(defect: string): void {
    this.#defect ??= `line ${this.#line} ${defect}`;
  }

  #endLine(): void {
    if (this.#state !== State.lineEnd && this.#state !== State.lineStart) this.#fail('is not a JSON object');
    if (this.#state === State.lineEnd) this.#objects += 1;
    this.#state = State.lineStart;
    this.#line += 1;
    this.#lineBytes = 0;
  }

  #step(byte: number): void {
    if (this.#state >= State.minus) this.#stepNumber(byte);
    else if (this.#state >= State.escape) this.#stepWithin(byte);
    else if (byte !== SPACE && byte !== TAB && byte !== CR) this.#stepBetween(byte);
  }

  /** Consumes a byte between tokens. */
  #stepBetween(byte: number): void {
    const isClosed = this.#state === State.firstValue ? byte === CLOSE_ARRAY : byte === CLOSE_OBJECT;
    switch (this.#state) {
      case State.lineStart:
        if (byte === OPEN_OBJECT) this.#open(true);
        else this.#stepByteOrderMark(byte);
        break;
      case State.firstValue:
        if (isClosed) this.#close(false);
        else this.#beginValue(byte);
        break;
      case State.value:
        this.#beginValue(byte);
        break;
      case State.firstKey:
        if (isClosed) this.#close(true);
        else this.#beginKey(byte);
        break;
      case State.key:
        this.#beginKey(byte);
        break;
      case State.colon:
        this.#expect(byte === COLON, State.value);
        break;
      case State.afterValue:
        this.#stepAfterValue(byte);
        break;
      default:
        this.#fail('is not a JSON object');
    }
  }

  #expect(isExpected: boolean, next: number): void {
    if (isExpected) this.#state = next;
    else this.#fail('is not a JSON object');
  }

  /** Consumes the byte order mark before the first line. */
  #stepByteOrderMark(byte: number): void {
    const isExpected = this.#line === 1 && this.#lineBytes <= 3 && byte === BYTE_ORDER_MARK[this.#lineBytes - 1];
    if (!isExpected) this.#fail('is not a JSON object');
  }

  #beginValue(byte: number): void {
    const literal = LITERALS.get(byte);
    if (byte === QUOTE) {
      this.#isKey = false;
      this.#state = State.string;
    } else if (byte === OPEN_OBJECT) this.#open(true);
    else if (byte === OPEN_ARRAY) this.#open(false);
    else if (literal !== undefined) {
      this.#literal = literal;
      this.#literalAt = 1;
      this.#state = State.literal;
    } else if (byte === MINUS) this.#state = State.minus;
    else this.#expect(isDigit(byte), byte === 48 ? State.zero : State.integer);
  }

  #beginKey(byte: number): void {
    this.#isKey = true;
    this.#expect(byte === QUOTE, State.string);
  }

  #open(isObject: boolean): void {
    if (this.#depth === MAX_DEPTH) {
      this.#fail(`is nested more than ${MAX_DEPTH} levels deep`);
      return;
    }
    this.#isObject[this.#depth] = Number(isObject);
    this.#depth += 1;
    this.#state = isObject ? State.firstKey : State.firstValue;
  }

  #close(isObject: boolean): void {
    if (this.#isObject[this.#depth - 1] !== Number(isObject)) {
      this.#fail('is not a JSON object');
      return;
    }
    this.#depth -= 1;
    this.#state = this.#depth === 0 ? State.lineEnd : State.afterValue;
  }

  #stepAfterValue(byte: number): void {
    if (byte === COMMA) this.#state = this.#isObject[this.#depth - 1] === 1 ? State.key : State.value;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(byte === CLOSE_OBJECT);
    else this.#fail('is not a JSON object');
  }

  /** Consumes a byte within an escape sequence or a literal. */
  #stepWithin(byte: number): void {
    if (this.#state === State.escape) {
      this.#hexLeft = 4;
      this.#expect(ESCAPED.has(byte) || byte === LETTER_U, byte === LETTER_U ? State.hex : State.string);
    } else if (this.#state === State.hex) {
      this.#hexLeft -= 1;
      this.#expect(isHex(byte), this.#hexLeft === 0 ? State.string : State.hex);
    } else {
      const isExpected = byte === this.#literal[this.#literalAt];
      this.#literalAt += 1;
      this.#expect(isExpected, this.#literalAt === this.#literal.length ? State.afterValue : State.literal);
    }
  }

  #stepNumber(byte: number): void {
    const next = nextNumberState(this.#state, byte);
    if (next !== null) this.#state = next;
    else if (this.#state < NUMBER_MAY_END) this.#fail('is not a JSON object');
    else {
      this.#state = State.afterValue;
      this.#step(byte);
    }
  }
}

/** Returns the next state within a number; null when the byte does not belong to it. */
function nextNumberState(state: number, byte: number): number | null {
  const isE = byte === 101 || byte === 69;
  switch (state) {
    case State.minus:
      if (!isDigit(byte)) return null;
      return byte === 48 ? State.zero : State.integer;
    case State.zero:
    case State.integer:
      if (byte === POINT) return State.point;
      if (isE) return State.exponent;
      return state === State.integer && isDigit(byte) ? State.integer : null;
    case State.point:
      return isDigit(byte) ? State.fraction : null;
    case State.fraction:
      if (isE) return State.exponent;
      return isDigit(byte) ? State.fraction : null;
    case State.exponent:
      if (byte === PLUS || byte === MINUS) return State.exponentSign;
      return isDigit(byte) ? State.exponentDigits : null;
    default:
      return isDigit(byte) ? State.exponentDigits : null;
  }
}

/** Returns the index of the next quote, backslash or control character, or the end of the bytes. */
function findStringEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
  }
  return at;
}

const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57;

const isHex = (byte: number): boolean => isDigit(byte) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102);
