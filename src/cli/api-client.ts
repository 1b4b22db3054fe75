import { setTimeout as pause } from 'node:timers/promises';
import { clientEnvironment } from '../config.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { WrongCall } from './wrong-call.ts';

/** Items of one page of a list. */
const PAGE_ITEMS = 100;
/** Times that a request is sent again after the service has said how long to wait: a limit is over after a minute. */
const MAX_WAITS = 5;
const MAX_WAIT_SECONDS = 60;

/** The HTTP API of a service, as commands use it: `QUIRE_URL` and `QUIRE_API_KEY` say where and who. */
export interface ApiClient {
  /** The address of the service, without a path. */
  url: string;
  /** Sends JSON, or a form, and gives the answer. Throws `Refused` in the service's words when it is not a good one. */
  send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response>;
  /** The same, with the answer read. */
  json<T>(method: string, path: string, body?: object, signal?: AbortSignal): Promise<T>;
  /** Every item of a list, page by page. `query` may have more than the page, and an `after` to begin at. */
  list<T extends { id: string }>(path: string, query?: Record<string, string>): AsyncGenerator<T>;
}

/** The service has refused a request. */
export class Refused extends OperatorError {
  readonly status: number;
  /** What the service says, without the status. */
  readonly says: string;

  constructor(status: number, says: string) {
    super(`${status}: ${says}`);
    this.status = status;
    this.says = says;
  }
}

/** Throws `WrongCall` where no key is set, or `QUIRE_URL` is no address. */
export function apiClient(): ApiClient {
  const { url, apiKey } = clientEnvironment();
  if (apiKey === null) throw new WrongCall('Set QUIRE_API_KEY to an API key; the first start prints one.');
  const base = baseOf(url);
  const send: ApiClient['send'] = (method, path, body, signal) =>
    request(base + path, { method, headers: headersOf(apiKey, body), ...(signal && { signal }) }, body);
  const json = async <T>(method: string, path: string, body?: object, signal?: AbortSignal) =>
    (await (await send(method, path, body, signal)).json()) as T;
  return {
    url: base,
    send,
    json,
    async *list<T extends { id: string }>(path: string, query: Record<string, string> = {}) {
      for (let after = query['after']; ; ) {
        const asked = new URLSearchParams({ limit: String(PAGE_ITEMS), ...query, ...(after && { after }) });
        const page = await json<{ data: T[]; has_more: boolean; last_id: string }>('GET', `${path}?${asked}`);
        yield* page.data;
        if (!page.has_more) return;
        after = page.last_id;
      }
    },
  };
}

/** Clients of the OpenAI kind want an address that ends in `/v1`, and people paste it. */
function baseOf(url: string): string {
  const isAddress = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isAddress) throw new WrongCall(`QUIRE_URL must be an address such as http://127.0.0.1:8080, not '${url}'.`);
  return url.trim().replace(/\/+$/, '').replace(/\/v1$/, '');
}

function headersOf(apiKey: string, body: object | undefined): Record<string, string> {
  const isJson = body !== undefined && !(body instanceof FormData);
  return { authorization: `Bearer ${apiKey}`, ...(isJson && { 'content-type': 'application/json' }) };
}

async function request(url: string, init: RequestInit, body: object | undefined): Promise<Response> {
  const sent = body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) };
  for (let waits = 0; ; waits += 1) {
    const answer = await fetch(url, { ...init, ...sent }).catch((error: Error) => {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new OperatorError(`${url} does not answer: ${describeError(error.cause ?? error)}`, { cause: error });
    });
    if (answer.ok) return answer;
    const says = messageOf(await answer.text());
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    const isWorthIt = answer.status === 429 && seconds <= MAX_WAIT_SECONDS && waits < MAX_WAITS;
    if (!isWorthIt) throw new Refused(answer.status, says);
    await pause(seconds * 1000, undefined, init.signal ? { signal: init.signal } : {});
  }
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text.slice(0, 200);
  }
}
