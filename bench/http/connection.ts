import { connect, type Socket } from 'node:net';
import { type ParsedResponse, ResponseReader } from './response-reader.ts';

/** Longest wait for a response. Exceeds every response time in the benchmarks. */
const SILENCE_LIMIT_MS = 300_000;

/** A response with the times of its parts, in milliseconds since the request was written. */
export interface TimedResponse extends ParsedResponse {
  firstByteMs: number;
  totalMs: number;
}

interface Exchange {
  resolve(answer: TimedResponse): void;
  reject(error: Error): void;
  onBody: ((payload: Buffer) => void) | undefined;
  sentMs: number;
  firstByteMs: number;
}

/** A keep-alive connection that carries one request at a time. */
export class Connection {
  #socket: Socket;
  #exchange: Exchange | undefined;
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const reader = new ResponseReader({
      onBody: (payload) => this.#onBody(payload),
      onEnd: (answer) => this.#onEnd(answer),
    });
    socket.setNoDelay(true);
    socket.setTimeout(SILENCE_LIMIT_MS, () => {
      if (this.#exchange) socket.destroy(new Error(`no answer within ${SILENCE_LIMIT_MS} ms`));
    });
    socket.on('data', (piece: Buffer) => {
      try {
        reader.push(piece);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed before the answer ended')));
  }

  /** Connects to `origin` (`http://127.0.0.1:8080`). */
  static open(origin: string): Promise<Connection> {
    const { hostname, port } = new URL(origin);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Whether the socket is closed; open another connection then. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Writes `request` (a complete HTTP request) and resolves with its response. Rejects when the connection breaks or is
   * destroyed. `onBody` gets each chunk of the body as it arrives.
   */
  exchange(request: Buffer, onBody?: (payload: Buffer) => void): Promise<TimedResponse> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new Error('the connection is closed'));
        return;
      }
      this.#exchange = { resolve, reject, onBody, sentMs: performance.now(), firstByteMs: 0 };
      this.#socket.write(request);
    });
  }

  /** Destroys the connection, like a client whose process exits. */
  destroy(): void {
    // Immediately, not on the socket's event: the response may have ended in the same turn, and another request may
    // follow.
    this.#closed = true;
    this.#socket.destroy();
  }

  #onBody(payload: Buffer): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    if (exchange.firstByteMs === 0) exchange.firstByteMs = performance.now() - exchange.sentMs;
    exchange.onBody?.(payload);
  }

  #onEnd(answer: ParsedResponse): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    const totalMs = performance.now() - exchange.sentMs;
    exchange.resolve({ ...answer, firstByteMs: exchange.firstByteMs, totalMs });
  }

  #fail(error: Error): void {
    this.#closed = true;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.reject(error);
  }
}
