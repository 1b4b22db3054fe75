import { setTimeout as pause } from 'node:timers/promises';
import { clientEnvironment } from '../config.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';

/** Items of one page of a list. */
const PAGE_ITEMS = 100;
/** Maximum number of retries of a request rejected with 429. */
const MAX_RETRIES = 5;
/** Longest `Retry-After` that is waited for. Rate limits cover one minute. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal;
  /** `Idempotency-Key` header. */
  idempotencyKey?: string;
}

/** HTTP API client of the commands. `QUIRE_URL` and `QUIRE_API_KEY` set the address and the API key. */
export interface ApiClient {
  /** Base URL of the service, without a path. */
  url: string;
  /** Sends a JSON or form body and returns the response. Throws `HttpStatusError` unless the status is 2xx. */
  send(method: string, path: string, body?: object, options?: RequestOptions): Promise<Response>;
  /** Like `send`, and parses the JSON response. */
  json<T>(method: string, path: string, body?: object, options?: RequestOptions): Promise<T>;
  /** Yields every item of a list, page by page. `query` may contain filters and a start cursor (`after`). */
  list<T extends { id: string }>(path: string, query?: Record<string, string>): AsyncGenerator<T>;
}

/** An error response of the service. */
export class HttpStatusError extends OperatorError {
  readonly status: number;
  /** `error.message` of the response, without the status. */
  readonly detail: string;

  constructor(status: number, detail: string) {
    super(`${status}: ${detail}`);
    this.status = status;
    this.detail = detail;
  }
}

/** Creates a client from the environment. Throws an `OperatorError` when no API key is set or `QUIRE_URL` is not an HTTP URL. */
export function createApiClient(): ApiClient {
  const { url, apiKey } = clientEnvironment();
  if (apiKey === null) throw new OperatorError('Set QUIRE_API_KEY to an API key; the first start prints one.');
  const base = parseBaseUrl(url);
  const send: ApiClient['send'] = (method, path, body, { signal, idempotencyKey } = {}) => {
    const headers = requestHeaders(apiKey, body);
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    return request(base + path, { method, headers, ...(signal && { signal }) }, body);
  };
  const json = async <T>(method: string, path: string, body?: object, options?: RequestOptions) =>
    (await (await send(method, path, body, options)).json()) as T;
  return {
    url: base,
    send,
    json,
    async *list<T extends { id: string }>(path: string, query: Record<string, string> = {}) {
      for (let after = query['after']; ; ) {
        const search = new URLSearchParams({ limit: String(PAGE_ITEMS), ...query, ...(after && { after }) });
        const page = await json<{ data: T[]; has_more: boolean; last_id: string }>('GET', `${path}?${search}`);
        yield* page.data;
        if (!page.has_more) return;
        after = page.last_id;
      }
    },
  };
}

/** Removes a trailing `/v1`, which OpenAI clients require in their base URL. */
function parseBaseUrl(url: string): string {
  const isHttpUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttpUrl) throw new OperatorError(`QUIRE_URL must be an address such as http://127.0.0.1:8080, not '${url}'.`);
  return url.trim().replace(/\/+$/, '').replace(/\/v1$/, '');
}

function requestHeaders(apiKey: string, body: object | undefined): Record<string, string> {
  const isJson = body !== undefined && !(body instanceof FormData);
  return { authorization: `Bearer ${apiKey}`, ...(isJson && { 'content-type': 'application/json' }) };
}

async function request(url: string, init: RequestInit, body: object | undefined): Promise<Response> {
  const payload = body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) };
  for (let retries = 0; ; retries += 1) {
    const response = await fetch(url, { ...init, ...payload }).catch((error: Error) => {
      if (init.signal?.aborted) throw init.signal.reason;
      throw new OperatorError(`${url} does not respond: ${describeError(error.cause ?? error)}`, { cause: error });
    });
    if (response.ok) return response;
    const message = errorMessage(await response.text());
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    const isRetryable = response.status === 429 && seconds <= MAX_RETRY_AFTER_SECONDS && retries < MAX_RETRIES;
    if (!isRetryable) throw new HttpStatusError(response.status, message);
    await pause(seconds * 1000, undefined, init.signal ? { signal: init.signal } : {});
  }
}

function errorMessage(text: string): string {
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text.slice(0, 200);
  }
}
