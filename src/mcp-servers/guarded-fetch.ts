import type { FetchLike } from '@modelcontextprotocol/client';
import type { Dispatcher } from 'undici';
import type { GuardedHttp } from '../connectors/http/guarded-http.ts';

/** Maximum bytes of a response or of an event stream. */
const MAX_BYTES = 4_194_304;
/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Creates the `fetch` of an MCP client: public addresses only, and limits of time and size. `timeoutMs` limits one
 * request with its body. The stream for messages that the server starts is not opened: this client answers none.
 */
export function createGuardedFetch(http: GuardedHttp, timeoutMs: number): FetchLike {
  return async (url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const method = (init.method ?? 'GET') as Dispatcher.HttpMethod;
    // With an id, the client resumes the stream of a response that was interrupted.
    if (method === 'GET' && headers['last-event-id'] === undefined) return new Response(null, { status: 405 });
    const { status, ...response } = await http.request(
      String(url),
      {
        method,
        headers,
        ...(typeof init.body === 'string' && { body: init.body }),
        maxBytes: MAX_BYTES,
        timeoutMs,
        idleMs: timeoutMs,
        follow: () => false,
      },
      init.signal ?? AbortSignal.timeout(timeoutMs),
    );
    const fields = Object.entries(response.headers).filter(
      (field): field is [string, string] => field[1] !== undefined,
    );
    const hasBody = !WITHOUT_BODY.has(status);
    if (!hasBody) await response.discard();
    return new Response(hasBody ? ReadableStream.from(response.body) : null, { status, headers: fields });
  };
}
