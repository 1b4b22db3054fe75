import type { Dispatcher } from 'undici';
import { describeError } from '../../lib/operator-error.ts';
import { traceHeaders } from '../../lib/trace-headers.ts';

/** Unread bytes above which the upstream is paused (backpressure): some thousand chunks of a stream. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Milliseconds that a response may take to end after its last fragment, before its connection is closed. */
const END_GRACE_MS = 1000;

/** A failure of the transport, without a response from the upstream. */
export class HttpExchangeError extends Error {
  override readonly name = 'HttpExchangeError';
  readonly kind: 'connection' | 'first-byte-timeout' | 'idle-timeout';

  constructor(kind: HttpExchangeError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** One HTTP request with its timeouts. */
export interface HttpExchangeRequest {
  origin: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | null;
  /** Until the first byte of the response body, including the wait for a connection. */
  firstByteSeconds: number;
  idleSeconds: number;
}

/**
 * One HTTP request and its response, read in fragments. Built on undici's `dispatch` instead of `request`: no Node
 * stream in between, and a call that is aborted while it waits for a connection ends immediately. Aborting closes the
 * connection, which tells the upstream to stop.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** 0 until the response head arrives. */
  status = 0;
  /** The raw `Retry-After` header. */
  retryAfter: string | null = null;
  readonly #firstByteSeconds: number;
  readonly #idleSeconds: number;
  readonly #signal: AbortSignal;
  readonly #onClosed: () => void;
  readonly #onAbort: () => void;
  /** Null before the request is sent, and after the end: it references the sent request and all that waits for it. */
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | null;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #started = false;
  #ended = false;
  #cancelled = false;
  #failure: { reason: unknown } | null = null;
  #resumeReader: (() => void) | null = null;

  /** Sends the request. `onClosed` is called once, when the connection is released. */
  constructor(dispatcher: Dispatcher, request: HttpExchangeRequest, signal: AbortSignal, onClosed: () => void) {
    this.#firstByteSeconds = request.firstByteSeconds;
    this.#idleSeconds = request.idleSeconds;
    this.#signal = signal;
    this.#onClosed = onClosed;
    this.#onAbort = () => this.#fail(signal.reason);
    this.#timer = setTimeout(() => this.#onTimeout(), request.firstByteSeconds * 1000);
    if (signal.aborted) {
      this.#fail(signal.reason);
      return;
    }
    signal.addEventListener('abort', this.#onAbort);
    const { origin, path, method, body } = request;
    const headers = { ...request.headers, ...traceHeaders() };
    // The timeouts of this class replace undici's, because they include the wait for a connection.
    dispatcher.dispatch({ origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this);
  }

  /**
   * Resolves with the first bytes of the response body, or null for an empty one; `status` is then set. Throws the
   * signal's reason, or an `HttpExchangeError`.
   */
  async first(): Promise<Buffer | null> {
    return this.take() ?? this.read();
  }

  /**
   * Returns the next fragment if it has arrived; null otherwise, also at the end. Throws the error that ended the
   * exchange.
   */
  take(): Buffer | null {
    if (this.#failure) throw this.#failure.reason;
    const piece = this.#unread.shift();
    if (piece === undefined) return null;
    this.#unreadBytes -= piece.length;
    if (this.#unreadBytes < MAX_UNREAD_BYTES / 2 && this.#controller?.paused) this.#controller.resume();
    return piece;
  }

  /** Resolves with the next fragment, or null at the end. Throws the signal's reason, or an `HttpExchangeError`. */
  async read(): Promise<Buffer | null> {
    for (;;) {
      const piece = this.take();
      if (piece !== null || this.#ended) return piece;
      await new Promise<void>((resolve) => {
        this.#resumeReader = resolve;
      });
    }
  }

  /** Reads the rest of the response as text, truncated to `maxBytes`, and releases the exchange. */
  async text(begin: Buffer | null, maxBytes: number): Promise<string> {
    const segments: Buffer[] = [];
    let bytes = 0;
    for (let piece = begin; piece !== null && bytes < maxBytes; piece = await this.read()) {
      segments.push(piece);
      bytes += piece.length;
    }
    this.release();
    return Buffer.concat(segments).toString('utf8', 0, maxBytes);
  }

  /**
   * Stops reading. The connection is reused if the response ends in time, and closed otherwise. May be called at any
   * time and again.
   */
  release(): void {
    if (this.#cancelled || this.#ended || this.#failure) return;
    this.#cancelled = true;
    // From here on an abort must not close the connection: it is released by the end of the response or by the timer.
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#unread = [];
    this.#unreadBytes = 0;
    if (this.#controller?.paused) this.#controller.resume();
    this.#startTimer(END_GRACE_MS);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(toError(this.#failure.reason));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.status = status;
    const retryAfter = headers['retry-after'];
    this.retryAfter = typeof retryAfter === 'string' ? retryAfter : null;
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#cancelled || this.#failure) return;
    if (this.#started) this.#timer?.refresh();
    else {
      this.#started = true;
      this.#startTimer(this.#idleSeconds * 1000);
    }
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(): void {
    if (this.#ended || this.#failure) return;
    this.#ended = true;
    this.#close();
    this.#wakeReader();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(new HttpExchangeError('connection', describeError(error), error));
  }

  #onTimeout(): void {
    if (this.#cancelled) this.#fail(new HttpExchangeError('idle-timeout', 'the answer did not end'));
    // The reader is slow and the upstream paused: no data can arrive.
    else if (this.#controller?.paused) this.#timer?.refresh();
    else if (this.#started)
      this.#fail(new HttpExchangeError('idle-timeout', `nothing came for ${this.#idleSeconds} seconds`));
    else this.#fail(new HttpExchangeError('first-byte-timeout', `no answer within ${this.#firstByteSeconds} seconds`));
  }

  #fail(reason: unknown): void {
    if (this.#failure || this.#ended) return;
    this.#failure = { reason };
    this.#unread = [];
    const controller = this.#controller;
    this.#close();
    controller?.abort(toError(reason));
    this.#wakeReader();
  }

  #close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#controller = null;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#onClosed();
  }

  #startTimer(milliseconds: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#onTimeout(), milliseconds);
  }

  #wakeReader(): void {
    const wake = this.#resumeReader;
    this.#resumeReader = null;
    wake?.();
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(describeError(reason));
}
