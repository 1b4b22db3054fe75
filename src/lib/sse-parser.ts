const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;

/** The bytes of `data`, compared one by one: no text is made of a line before it is known to be one of data. */
const DATA = [0x64, 0x61, 0x74, 0x61] as const;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/**
 * Bytes that one event may have: a server that gives a whole answer of a million tokens as one event needs about 6 MB,
 * one that never ends a line would otherwise fill the memory.
 */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** Pieces of a line before they are joined: a line that comes byte by byte must not become millions of objects. */
const MAX_PIECES = 1024;

const NO_BYTES = Buffer.alloc(0);

/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as their bytes come, and
 * gives the `data` of each; comments, `event`, `id` and `retry` are passed over. Bytes may be cut anywhere, within a
 * character or between CR and LF too. `push` throws a RangeError when one event is larger than `MAX_EVENT_BYTES`.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  /** Pieces of a line whose end has not come. Joined only when it has, so that a huge line is copied once. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** The data lines of the event that is being read, joined by line feeds; null when it has none. */
  #data: string | null = null;
  #dataBytes = 0;
  /** The last chunk ended with CR, so that an LF that comes first belongs to it. */
  #afterCr = false;
  #atStart = true;

  constructor(maxEventBytes: number = MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** The data of the events that end within `chunk`, in order. */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const events: string[] = [];
    if (bytes.length === 0) return events;
    let start = this.#afterCr && bytes[0] === LF ? 1 : 0;
    this.#afterCr = false;
    // Both are looked for only once the one before has been passed: a stream without CR is searched for it once a chunk.
    let lf = bytes.indexOf(LF, start);
    let cr = bytes.indexOf(CR, start);
    while (lf !== -1 || cr !== -1) {
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      this.#line(bytes, start, end, events);
      start = end + 1;
      if (end === cr) {
        if (lf === start) start += 1;
        else if (start === bytes.length) this.#afterCr = true;
        cr = bytes.indexOf(CR, start);
      }
      if (lf !== -1 && lf < start) lf = bytes.indexOf(LF, start);
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return events;
  }

  /** The data of a last event that the stream ended without a blank line, as servers do after `[DONE]`; else none. */
  end(): string[] {
    const events: string[] = [];
    if (this.#pieceBytes > 0) this.#line(NO_BYTES, 0, 0, events);
    this.#dispatch(events);
    return events;
  }

  #keep(piece: Buffer): void {
    this.#pieceBytes += piece.length;
    this.#bound(this.#pieceBytes + this.#dataBytes);
    this.#pieces.push(piece);
    if (this.#pieces.length > MAX_PIECES) this.#pieces = [Buffer.concat(this.#pieces)];
  }

  #bound(bytes: number): void {
    if (bytes > this.#maxEventBytes) throw new RangeError(`an event is larger than ${this.#maxEventBytes} bytes`);
  }

  #line(bytes: Buffer, start: number, end: number, events: string[]): void {
    if (this.#pieceBytes > 0) {
      const whole = Buffer.concat([...this.#pieces, bytes.subarray(start, end)]);
      this.#pieces = [];
      this.#pieceBytes = 0;
      this.#field(whole, 0, whole.length);
    } else if (start === end) {
      this.#dispatch(events);
    } else {
      this.#field(bytes, start, end);
    }
  }

  #field(line: Buffer, lineStart: number, end: number): void {
    let start = lineStart;
    if (this.#atStart) {
      this.#atStart = false;
      if (BYTE_ORDER_MARK.every((byte, at) => line[start + at] === byte)) start += BYTE_ORDER_MARK.length;
    }
    for (let at = 0; at < DATA.length; at += 1) if (line[start + at] !== DATA[at]) return;
    let from = start + DATA.length;
    if (from < end && line[from] !== COLON) return;
    from += 1;
    if (line[from] === SPACE) from += 1;
    this.#dataBytes += Math.max(0, end - from);
    this.#bound(this.#dataBytes);
    const text = from < end ? line.toString('utf8', from, end) : '';
    this.#data = this.#data === null ? text : `${this.#data}\n${text}`;
  }

  #dispatch(events: string[]): void {
    if (this.#data !== null) events.push(this.#data);
    this.#data = null;
    this.#dataBytes = 0;
  }
}
