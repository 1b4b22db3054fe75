/** A `fetch` that records the requests of the console, and streams that a test writes. Needs `browser-globals.ts`. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setFetch } from './browser-globals.ts';

const ORIGIN = globalThis.location.origin;

/** A request of the console. */
export interface RecordedRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  /** The parsed JSON; null without a body. */
  body: unknown;
  signal: AbortSignal;
}

type Reply = (request: RecordedRequest) => Response | Promise<Response>;

/** Records every request until the test ends, and answers it; with an empty list unless `reply` is given. */
export function recordRequests(t: TestContext, reply: Reply = () => Response.json({ data: [] })): RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  setFetch(async (input, init) => {
    const request = input instanceof Request ? input : new Request(new URL(input, ORIGIN), init);
    const url = new URL(request.url);
    assert.equal(url.origin, ORIGIN);
    const text = await request.clone().text();
    const recorded = {
      method: request.method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      body: text === '' ? null : JSON.parse(text),
      // The signal of a request that is made from a request follows it.
      signal: init?.signal ?? request.signal,
    };
    requests.push(recorded);
    return reply(recorded);
  });
  t.after(() => setFetch(null));
  return requests;
}

/** A stream of server-sent events that the test writes. Reading fails when the request is aborted, as in a browser. */
export function openEventStream({ signal }: Pick<RecordedRequest, 'signal'>) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const abort = () => void writer.abort(signal.reason).catch(() => {});
  signal.addEventListener('abort', abort, { once: true });
  const write = (text: string) => writer.write(new TextEncoder().encode(text)).catch(() => {});
  return {
    response: new Response(readable, { headers: { 'content-type': 'text/event-stream' } }),
    send: (event: object) => write(`data: ${JSON.stringify(event)}\n\n`),
    end: async () => {
      await write('data: [DONE]\n\n');
      await writer.close().catch(() => {});
    },
    /** Closes the connection in the middle. */
    lose: () => writer.close().catch(() => {}),
  };
}
