const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';
/** Enough for "data: [DONE]" or an error event, in any chunks. */
const TAIL_BYTES = 256;

/** A complete HTTP/1.1 response. */
export interface ParsedResponse {
  status: number;
  bodyBytes: number;
  /** Last bytes of the body as text, to detect a final `[DONE]`. */
  tail: string;
  /** Start of the body of a response other than 200, for the report. Empty for 200. */
  complaint: string;
}

/** Callbacks of the reader, called during `push`. */
export interface ReaderEvents {
  onBody(payload: Buffer): void;
  onEnd(answer: ParsedResponse): void;
}

type State = 'head' | 'fixed' | 'chunk-size' | 'chunk-data' | 'trailer';

/**
 * Parses HTTP/1.1 responses from socket chunks. Custom, because the load generator shares two cores with its target: a
 * full client costs ten times the few microseconds per response. Honours the framing (Content-Length and chunked), so
 * that truncated or malformed responses never count.
 */
export class ResponseReader {
  #events: ReaderEvents;
  #state: State = 'head';
  #pending: Buffer | undefined;
  #status = 0;
  #remaining = 0;
  #bodyBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #complaint = '';

  constructor(events: ReaderEvents) {
    this.#events = events;
  }

  /** Parses the next chunk. Throws for invalid HTTP and framing without keep-alive. */
  push(piece: Buffer): void {
    const data = this.#pending ? Buffer.concat([this.#pending, piece]) : piece;
    this.#pending = undefined;
    let at = 0;
    while (at < data.length) {
      const next = this.#step(data, at);
      if (next < 0) {
        this.#pending = data.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** Parses one part from `at`. Returns the offset of the next part, or -1 when more bytes are needed. */
  #step(data: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(data, at);
      case 'fixed':
        return this.#readFixed(data, at);
      case 'chunk-size':
        return this.#readChunkSize(data, at);
      case 'chunk-data':
        return this.#readChunkData(data, at);
      case 'trailer':
        return this.#readTrailer(data, at);
    }
  }

  #readHead(data: Buffer, at: number): number {
    const end = data.indexOf(HEAD_END, at);
    if (end < 0) return -1;
    const head = data.toString('latin1', at, end);
    this.#status = Number(head.slice(9, 12));
    if (!head.startsWith('HTTP/1.1 ') || !(this.#status >= 200)) throw new Error(`not an answer: ${head.slice(0, 80)}`);
    this.#bodyBytes = 0;
    this.#tail = Buffer.alloc(0);
    this.#complaint = '';
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length) {
      this.#remaining = Number(length[1]);
      this.#state = 'fixed';
      if (this.#remaining === 0) this.#finish();
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#state = 'chunk-size';
    } else {
      throw new Error('an answer without Content-Length and not chunked');
    }
    return end + HEAD_END.length;
  }

  #readFixed(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#remaining);
    this.#remaining -= end - at;
    this.#takeBody(data.subarray(at, end));
    if (this.#remaining === 0) this.#finish();
    return end;
  }

  #readChunkSize(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_END, at);
    if (end < 0) return -1;
    const size = Number.parseInt(data.toString('latin1', at, end), 16);
    if (!(size >= 0)) throw new Error(`not a chunk size: ${data.toString('latin1', at, end).slice(0, 40)}`);
    this.#remaining = size;
    this.#state = size === 0 ? 'trailer' : 'chunk-data';
    return end + LINE_END.length;
  }

  #readChunkData(data: Buffer, at: number): number {
    if (this.#remaining > 0) {
      const end = Math.min(data.length, at + this.#remaining);
      this.#remaining -= end - at;
      this.#takeBody(data.subarray(at, end));
      return end;
    }
    if (data.length - at < LINE_END.length) return -1;
    this.#state = 'chunk-size';
    return at + LINE_END.length;
  }

  #readTrailer(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_END, at);
    if (end < 0) return -1;
    if (end === at) this.#finish();
    return end + LINE_END.length;
  }

  #takeBody(payload: Buffer): void {
    if (payload.length === 0) return;
    this.#bodyBytes += payload.length;
    if (payload.length >= TAIL_BYTES) this.#tail = payload.subarray(-TAIL_BYTES);
    else this.#tail = Buffer.concat([this.#tail, payload]).subarray(-TAIL_BYTES);
    if (this.#status !== 200 && this.#complaint.length < 300) this.#complaint += payload.toString('utf8').slice(0, 300);
    this.#events.onBody(payload);
  }

  #finish(): void {
    this.#state = 'head';
    this.#events.onEnd({
      status: this.#status,
      bodyBytes: this.#bodyBytes,
      tail: this.#tail.toString('latin1'),
      complaint: this.#complaint,
    });
  }
}
