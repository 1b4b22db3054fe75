import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { describeCause } from '../lib/operator-error.ts';
import { knownError } from './known-error.ts';
import { OPENAI_STREAM, type StreamFormat } from './protocol.ts';
import { setRateLimitHeaders } from './rate-limit.ts';

/** Returns a signal that aborts when the client disconnects before the response is complete, or has disconnected. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.destroyed) controller.abort(new ClientDisconnected());
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientDisconnected());
  });
  return controller.signal;
}

/** Abort reason of `disconnectSignal`. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
  constructor() {
    super('the client closed the connection');
  }
}

/** Silence after which a comment is sent, below the idle timeouts of usual proxies (60 s) and clients (30 s). */
const MAX_SILENCE_MS = 10_000;

/**
 * Waits for the facts that the head of a stream contains. Returns null after the time that clients and proxies wait for
 * a head; a later error of `facts` then belongs to the stream. Throws an earlier error of `facts`.
 */
export async function waitForHead<T>(facts: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), MAX_SILENCE_MS);
  });
  return Promise.race([facts, late]).finally(() => clearTimeout(timer));
}

/**
 * Sends `events` in the stream format of the route's protocol: server-sent events unless the route names another one.
 * Errors before this call are ordinary error responses; an error during the stream becomes one frame with the body of
 * the error, without the end of a complete stream. Sends a comment while there is no event. Applies backpressure to
 * slow clients. Returns (ends) `events` when the client disconnects.
 */
export async function sendEvents(reply: FastifyReply, events: AsyncIterable<object>): Promise<void> {
  const { raw, request } = reply;
  const { protocol } = request.routeOptions.config;
  const format = protocol?.stream ?? OPENAI_STREAM;
  setRateLimitHeaders(request, reply);
  // Bypasses Fastify's reply pipeline: frames are written to the socket directly.
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': format.contentType,
    'cache-control': 'no-cache, no-transform',
    // Disables response buffering in nginx.
    'x-accel-buffering': 'no',
  });
  const frames = new FrameWriter(raw, format);
  // In its own packet only when the first event is not there yet.
  setImmediate(() => frames.sendHead());
  const silence = setInterval(() => frames.keepAlive(), MAX_SILENCE_MS);
  try {
    for await (const event of events) {
      silence?.refresh();
      frames.write(event);
      if (raw.writableNeedDrain) await drained(raw);
      if (raw.destroyed) break;
    }
    frames.end(format.end);
  } catch (error) {
    if (raw.destroyed) return;
    const failure = knownError(error);
    request.callLog?.fail(failure);
    const fields = { requestId: request.id, code: failure.code, cause: describeCause(failure) };
    reply.log.error(fields, 'stream failed');
    frames.write(protocol?.errorBody(failure, request.id) ?? failure.body());
    frames.end('');
  } finally {
    clearInterval(silence);
    if (raw.destroyed && !raw.writableFinished) request.server.recordReply?.(reply);
  }
}

/** Maximum characters buffered per event-loop turn. */
const MAX_BUFFERED_CHARACTERS = 65_536;

/** Coalesces the frames of one event-loop turn into one socket write; a write costs more than a frame. */
class FrameWriter {
  readonly #raw: FastifyReply['raw'];
  readonly #format: StreamFormat;
  #buffer = '';

  constructor(raw: FastifyReply['raw'], format: StreamFormat) {
    this.#raw = raw;
    this.#format = format;
  }

  write(event: object): void {
    if (this.#buffer === '') setImmediate(() => this.#flush());
    this.#buffer += this.#format.frame(event);
    if (this.#buffer.length > MAX_BUFFERED_CHARACTERS) this.#flush();
  }

  /** Sends the head of the response unless an event follows in the same turn of the event loop. */
  sendHead(): void {
    if (this.#buffer === '' && !this.#raw.writableEnded && !this.#raw.destroyed) this.#raw.flushHeaders();
  }

  /** Writes a comment immediately, unless the client has not read the bytes before it. */
  keepAlive(): void {
    const { keepAlive } = this.#format;
    if (keepAlive !== null && !this.#raw.writableNeedDrain && !this.#raw.destroyed) this.#raw.write(keepAlive);
  }

  /** Flushes the buffer, writes `last` and ends the response. */
  end(last: string): void {
    this.#raw.end(this.#buffer + last);
    this.#buffer = '';
  }

  #flush(): void {
    if (this.#buffer === '') return;
    this.#raw.write(this.#buffer);
    this.#buffer = '';
  }
}

/** Waits until a client has read the sent bytes, or has disconnected. */
export async function drained(raw: Writable): Promise<void> {
  if (raw.destroyed) return;
  const done = new AbortController();
  try {
    await Promise.race([once(raw, 'drain', { signal: done.signal }), once(raw, 'close', { signal: done.signal })]);
  } finally {
    done.abort();
  }
}
