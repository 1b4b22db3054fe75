import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { ApiError, serverError } from '../errors.ts';
import { describeErrorWithStack } from '../lib/operator-error.ts';

/** Ends every stream that went well. Its absence tells a client that the answer is not whole. */
const DONE = 'data: [DONE]\n\n';

/** Aborts when the client goes away before the answer is complete, at once where it has left already. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.destroyed) controller.abort(new ClientDisconnected());
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new ClientDisconnected());
  });
  return controller.signal;
}

/** The reason of the signal when the client has left. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected';
  constructor() {
    super('the client closed the connection');
  }
}

/**
 * Sends `events` as server-sent events, `data:` frames with JSON, then `[DONE]`. Call it when the head is certain: what
 * fails before is an ordinary error with a status, what fails afterwards is one `data: {"error": ...}` frame and no
 * `[DONE]`. Waits for the client when it reads slowly, so nothing piles up; when it leaves, `events` is returned.
 */
export async function sendEvents(reply: FastifyReply, events: AsyncIterable<object>): Promise<void> {
  const { raw } = reply;
  // Past this point Fastify's own sending is out of the way: frames go to the socket as they are made.
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Buffering proxies (nginx) would hold the tokens back.
    'x-accel-buffering': 'no',
  });
  const frames = new FrameWriter(raw);
  try {
    for await (const event of events) {
      frames.write(event);
      if (raw.writableNeedDrain) await drained(raw);
      if (raw.destroyed) break;
    }
    frames.end(DONE);
  } catch (error) {
    if (raw.destroyed) return;
    const known = error instanceof ApiError ? error : serverError(error);
    const cause = known.cause === undefined ? undefined : describeErrorWithStack(known.cause);
    reply.log.error({ requestId: reply.request.id, code: known.code, cause }, 'stream broke off');
    frames.write(known.body());
    frames.end('');
  }
}

/** Frames of one turn that are held back at most: about one packet of a fast local network. */
const MAX_HELD_CHARACTERS = 65_536;

/** Frames that are made in one turn of the event loop are one write: each write costs more than making a frame. */
class FrameWriter {
  readonly #raw: FastifyReply['raw'];
  #held = '';

  constructor(raw: FastifyReply['raw']) {
    this.#raw = raw;
  }

  write(event: object): void {
    if (this.#held === '') setImmediate(() => this.#flush());
    this.#held += `data: ${JSON.stringify(event)}\n\n`;
    if (this.#held.length > MAX_HELD_CHARACTERS) this.#flush();
  }

  /** Ends the answer with what is held and the last text. */
  end(last: string): void {
    this.#raw.end(this.#held + last);
    this.#held = '';
  }

  #flush(): void {
    if (this.#held === '') return;
    this.#raw.write(this.#held);
    this.#held = '';
  }
}

async function drained(raw: FastifyReply['raw']): Promise<void> {
  if (raw.destroyed) return;
  const done = new AbortController();
  try {
    await Promise.race([once(raw, 'drain', { signal: done.signal }), once(raw, 'close', { signal: done.signal })]);
  } finally {
    done.abort();
  }
}
