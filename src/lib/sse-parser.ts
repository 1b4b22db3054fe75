const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;

/** Bytes of the field name `data`, compared before any line is decoded. */
const DATA = [0x64, 0x61, 0x74, 0x61] as const;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/**
 * Maximum size of one event. A completion of a million tokens sent as one event has about 6 MB. Bounds the memory for servers that
 * never end a line.
 */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/** Maximum number of buffered chunks of one line. A line that arrives byte by byte must not become millions of buffers. */
const MAX_BUFFERED_CHUNKS = 1024;

const NO_BYTES = Buffer.alloc(0);

/**
 * Incremental parser of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Returns the `data` of
 * each event; ignores comments, `event`, `id` and `retry`. Chunks may end anywhere, even within a character or between CR and LF.
 * `push` throws a RangeError when an event exceeds `MAX_EVENT_BYTES`.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  /** Chunks of an incomplete line, joined once when the line ends. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  /** Data lines of the current event, joined by line feeds; null when it has none. */
  #data: string | null = null;
  #dataBytes = 0;
  /** The previous chunk ended with CR, so an LF at the start of the next chunk belongs to it. */
  #afterCr = false;
  #atStart = true;

  constructor(maxEventBytes: number = MAX_EVENT_BYTES) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Returns the data of the events that end within `chunk`, in order. */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const events: string[] = [];
    if (bytes.length === 0) return events;
    let start = this.#afterCr && bytes[0] === LF ? 1 : 0;
    this.#afterCr = false;
    // Each delimiter is searched again only after it was passed: a chunk without CR is searched for CR once.
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
    if (start < bytes.length) this.#buffer(bytes.subarray(start));
    return events;
  }

  /** Ends the stream. Returns the data of a last event without a trailing blank line, as some servers send `[DONE]`. */
  end(): string[] {
    const events: string[] = [];
    if (this.#chunkBytes > 0) this.#line(NO_BYTES, 0, 0, events);
    this.#dispatch(events);
    return events;
  }

  #buffer(chunk: Buffer): void {
    this.#chunkBytes += chunk.length;
    this.#requireBounded(this.#chunkBytes + this.#dataBytes);
    this.#chunks.push(chunk);
    if (this.#chunks.length > MAX_BUFFERED_CHUNKS) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  #requireBounded(bytes: number): void {
    if (bytes > this.#maxEventBytes) throw new RangeError(`an event is larger than ${this.#maxEventBytes} bytes`);
  }

  #line(bytes: Buffer, start: number, end: number, events: string[]): void {
    if (this.#chunkBytes > 0) {
      const line = Buffer.concat([...this.#chunks, bytes.subarray(start, end)]);
      this.#chunks = [];
      this.#chunkBytes = 0;
      this.#field(line, 0, line.length);
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
    let valueStart = start + DATA.length;
    if (valueStart < end && line[valueStart] !== COLON) return;
    valueStart += 1;
    if (line[valueStart] === SPACE) valueStart += 1;
    this.#dataBytes += Math.max(0, end - valueStart);
    this.#requireBounded(this.#dataBytes);
    const text = valueStart < end ? line.toString('utf8', valueStart, end) : '';
    this.#data = this.#data === null ? text : `${this.#data}\n${text}`;
  }

  #dispatch(events: string[]): void {
    if (this.#data !== null) events.push(this.#data);
    this.#data = null;
    this.#dataBytes = 0;
  }
}
