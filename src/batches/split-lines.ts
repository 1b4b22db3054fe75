/** A line of a byte stream, without its line break. */
export interface FileLine {
  /** From 1; blank lines count. */
  number: number;
  /** Offset of the first byte in the stream. */
  start: number;
  bytes: number;
  /** Null when the line is longer than the limit; it is not buffered then. */
  content: Buffer | null;
}

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Splits a byte stream into lines that end with LF or CRLF; the last one may lack it. Skips a byte order mark and lines
 * of white space. Buffers at most one line of `maxBytes`.
 */
export async function* splitLines(content: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<FileLine> {
  const line = new LineBuffer(maxBytes);
  for await (const chunk of content) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
      line.push(bytes.subarray(from, end));
      from = end + 1;
      const complete = line.end();
      if (complete !== null) yield complete;
    }
    line.push(bytes.subarray(from));
  }
  const last = line.end();
  if (last !== null) yield last;
}

/** The bytes of the current line. */
class LineBuffer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #number = 1;
  #start = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    // CR and a byte order mark do not count.
    if (this.#bytes > this.#maxBytes + BYTE_ORDER_MARK.length + 1) this.#parts = [];
    else this.#parts.push(part);
  }

  /** Ends the line. Returns null when it is blank. */
  end(): FileLine | null {
    const [number, start, bytes] = [this.#number, this.#start, this.#bytes];
    const content = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    const isBuffered = this.#parts.length > 0 || bytes === 0;
    this.#parts = [];
    this.#bytes = 0;
    this.#number += 1;
    this.#start += bytes + 1;
    if (!isBuffered || content === undefined) return { number, start, bytes, content: null };
    return trim({ number, start, bytes, content }, this.#maxBytes);
  }
}

function trim({ number, start, content }: FileLine & { content: Buffer }, maxBytes: number): FileLine | null {
  const hasMark = start === 0 && content.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const from = hasMark ? BYTE_ORDER_MARK.length : 0;
  const to = content.at(-1) === CR ? content.length - 1 : content.length;
  const trimmed = content.subarray(from, to);
  if (trimmed.length > maxBytes) return { number, start: start + from, bytes: trimmed.length, content: null };
  if (isBlank(trimmed)) return null;
  return { number, start: start + from, bytes: trimmed.length, content: trimmed };
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === CR);
