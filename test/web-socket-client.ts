/** A client of WebSockets in tests. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { withDeadline } from './deadline.ts';
import type { TestApi } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
type SocketEvent = any;

/** An open WebSocket. */
export interface SocketClient {
  socket: WebSocket;
  /** Headers of the response that opened it. */
  headers: Record<string, string | undefined>;
  /** Sends JSON; a text or bytes are sent verbatim. */
  send(message: unknown): void;
  /** The next event. */
  next(): Promise<SocketEvent>;
  /** The events of one response, to the event that ends it; an event `error` ends it, too. */
  turn(message: unknown): Promise<SocketEvent[]>;
  /** Code and reason of the close frame. */
  closed(): Promise<[code: number, reason: string]>;
}

const ENDS = /^(error|response\.(completed|incomplete|failed))$/;

/** Opens a WebSocket. Throws the status and body of a response that rejects it. */
export async function openSocket(
  api: Pick<TestApi, 'url' | 'key'>,
  { key = api.key, headers = {} }: { key?: string | null; headers?: Record<string, string> } = {},
): Promise<SocketClient> {
  const socket = new WebSocket(`${api.url.replace('http', 'ws')}/v1/responses`, {
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
  });
  const events: unknown[] = [];
  let arrived = Promise.withResolvers<void>();
  socket.on('message', (data) => {
    events.push(JSON.parse(String(data)));
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  const closed = once(socket, 'close').then(([code, reason]): [number, string] => [code, String(reason)]);
  const upgraded = once(socket, 'upgrade');
  await openedOrRejected(socket);
  const [{ headers: received }] = (await upgraded) as [{ headers: SocketClient['headers'] }];
  socket.on('error', () => {});
  const next = async () => {
    while (events.length === 0) await withDeadline('an event', arrived.promise);
    return events.shift();
  };
  const send = (message: unknown) =>
    socket.send(typeof message === 'string' || message instanceof Buffer ? message : JSON.stringify(message));
  const turn = async (message: unknown) => {
    send(message);
    const read: SocketEvent[] = [];
    do read.push(await next());
    while (!ENDS.test(read.at(-1).type));
    return read;
  };
  return {
    socket,
    headers: received,
    send,
    next,
    turn,
    closed: () => withDeadline('the close of the WebSocket', closed),
  };
}

async function openedOrRejected(socket: WebSocket): Promise<void> {
  const rejected = once(socket, 'unexpected-response').then(async (event) => {
    const response = event[1] as IncomingMessage;
    let text = '';
    for await (const chunk of response) text += String(chunk);
    throw Object.assign(new Error(`rejected with ${response.statusCode}`), {
      status: response.statusCode,
      code: JSON.parse(text).error.code,
    });
  });
  await Promise.race([once(socket, 'open'), rejected]);
}
