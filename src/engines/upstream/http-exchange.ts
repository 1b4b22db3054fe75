import type { Dispatcher } from 'undici';
import { describeError } from '../../lib/operator-error.ts';

/** Bytes of an answer that wait to be read before the upstream is held back: some thousand chunks of a stream. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Milliseconds that an answer may take to end after its last piece, before its connection is given up for it. */
const END_GRACE_MS = 1000;

/** Why an exchange did not come to its end, without the upstream having said anything about it. */
export class HttpExchangeError extends Error {
  override readonly name = 'HttpExchangeError';
  readonly kind: 'connection' | 'first-byte-timeout' | 'idle-timeout';

  constructor(kind: HttpExchangeError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** One HTTP request and how long its answer may take. */
export interface HttpExchangeRequest {
  origin: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | null;
  /** Until the first byte of the answer's body, waiting for a connection included. */
  firstByteSeconds: number;
  idleSeconds: number;
}

/**
 * One request to an upstream and its answer, read piece by piece. It sits on undici's `dispatch` and not on `request`,
 * because a stream of small pieces is then read without a Node stream between, and a call that is aborted while it
 * waits for a connection ends at once. Aborting closes the connection, which is how the upstream learns of it.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** 0 until the answer's head has come. */
  status = 0;
  /** The answer's `Retry-After`, as it was sent. */
  retryAfter: string | null = null;
  readonly #request: HttpExchangeRequest;
  readonly #signal: AbortSignal;
  readonly #onClosed: () => void;
  readonly #onAbort: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #timer: NodeJS.Timeout | null;
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  #started = false;
  #ended = false;
  #cancelled = false;
  #failure: { reason: unknown } | null = null;
  #resumeReader: (() => void) | null = null;

  /** Sends the request. `onClosed` is called once, when the exchange has let go of its connection. */
  constructor(dispatcher: Dispatcher, request: HttpExchangeRequest, signal: AbortSignal, onClosed: () => void) {
    this.#request = request;
    this.#signal = signal;
    this.#onClosed = onClosed;
    this.#onAbort = () => this.#fail(signal.reason);
    this.#timer = setTimeout(() => this.#onTimeout(), request.firstByteSeconds * 1000);
    if (signal.aborted) {
      this.#fail(signal.reason);
      return;
    }
    signal.addEventListener('abort', this.#onAbort);
    const { origin, path, method, headers, body } = request;
    // The two timeouts of undici are those of this class, which also hold while a connection is waited for.
    dispatcher.dispatch({ origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this);
  }

  /**
   * Resolves with the first bytes of the answer's body, or with null where it has none; `status` is then known.
   * Throws the signal's reason, or an `HttpExchangeError`.
   */
  async first(): Promise<Buffer | null> {
    return this.take() ?? this.read();
  }

  /** The next piece when it is here already; null says nothing about the end. Throws what ended the exchange. */
  take(): Buffer | null {
    if (this.#failure) throw this.#failure.reason;
    const piece = this.#unread.shift();
    if (piece === undefined) return null;
    this.#unreadBytes -= piece.length;
    if (this.#unreadBytes < MAX_UNREAD_BYTES / 2 && this.#controller?.paused) this.#controller.resume();
    return piece;
  }

  /** The next piece, or null at the end of the answer. Throws the signal's reason, or an `HttpExchangeError`. */
  async read(): Promise<Buffer | null> {
    for (;;) {
      const piece = this.take();
      if (piece !== null || this.#ended) return piece;
      await new Promise<void>((resolve) => {
        this.#resumeReader = resolve;
      });
    }
  }

  /** The rest of the answer as text, cut after `maxBytes`, when the exchange ends. */
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
   * Nothing more is read. An answer whose end is on its way keeps its connection for the next request; one that goes
   * on loses it. May be called at any time and again.
   */
  release(): void {
    if (this.#cancelled || this.#ended || this.#failure) return;
    this.#cancelled = true;
    // From here on the call may end as it likes: the connection is let go of by the answer's end, or by the grace's.
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
      this.#startTimer(this.#request.idleSeconds * 1000);
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
    const { firstByteSeconds, idleSeconds } = this.#request;
    if (this.#cancelled) this.#fail(new HttpExchangeError('idle-timeout', 'the answer did not end'));
    // A reader who is slow is not the upstream's fault: it is held back, so nothing can come.
    else if (this.#controller?.paused) this.#timer?.refresh();
    else if (this.#started)
      this.#fail(new HttpExchangeError('idle-timeout', `nothing came for ${idleSeconds} seconds`));
    else this.#fail(new HttpExchangeError('first-byte-timeout', `no answer within ${firstByteSeconds} seconds`));
  }

  #fail(reason: unknown): void {
    if (this.#failure || this.#ended) return;
    this.#failure = { reason };
    this.#unread = [];
    this.#close();
    this.#controller?.abort(toError(reason));
    this.#wakeReader();
  }

  #close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
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
