import { type ClientConfig, loadClientConfig } from '../config/client-config.ts';
import { CLIENT_DEFAULTS } from '../config/defaults.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { retry } from '../lib/retry.ts';
import { parseRetryAfter } from '../lib/retry-after.ts';
import { suggestSimilar } from '../lib/suggest.ts';
import { connectionError, HttpStatusError, notQuireError, responseError } from './client-errors.ts';
import { findService } from './command-client.ts';
import { listItems } from './list-items.ts';

/** Retries of a request rejected with 429. */
const MAX_RETRIES = 5;
/** Longest `Retry-After` that is waited for. Rate limits cover one minute. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal;
  /** `Idempotency-Key` header. */
  idempotencyKey?: string;
  /** Other headers. */
  headers?: Record<string, string>;
}

/** HTTP API client of the commands. */
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

/**
 * Creates a client of the service at `QUIRE_URL` or of the login, otherwise of the service that runs on the data
 * folder, otherwise at `QUIRE_HOST` and `QUIRE_PORT`. Throws an `OperatorError` when no API key is set or the address
 * is not an HTTP URL.
 */
export async function openApiClient(): Promise<ApiClient> {
  const config = await loadClientConfig();
  const { apiKey } = config;
  const origin = await findOrigin(config);
  if (apiKey === null) throw await missingKeyError(origin);
  return createApiClient(origin, apiKey);
}

/** Creates a client of the service at `origin`, a base URL without a path. */
export function createApiClient(origin: string, apiKey: string): ApiClient {
  const send: ApiClient['send'] = (method, path, body, options = {}) =>
    request({ origin, apiKey, method, path, body, ...options });
  const json = async <T>(method: string, path: string, body?: object, options?: RequestOptions) =>
    (await (await send(method, path, body, options)).json()) as T;
  return {
    url: origin,
    send,
    json,
    list: (path, query = {}) => listItems(path, query, (page) => json('GET', page)),
  };
}

/** A missing key is not the first problem where no service runs. */
async function missingKeyError(origin: string): Promise<OperatorError> {
  try {
    await (await fetch(`${origin}/healthz`)).body?.cancel();
  } catch (error) {
    return connectionError(origin, error);
  }
  return new OperatorError(
    "Set QUIRE_API_KEY to an API key, or store one with 'quire login'. The first start prints one; 'quire keys create' makes one.",
  );
}

/** The base URL of the service that commands use. */
export async function findOrigin({ url, dataDir, host, port }: ClientConfig): Promise<string> {
  if (url !== null) return parseBaseUrl(url);
  const service = await findService(dataDir);
  if (service === null) return `http://${host.includes(':') ? `[${host}]` : host}:${port || CLIENT_DEFAULTS.port}`;
  if (service.url !== null) return service.url;
  throw new OperatorError(`The service on ${dataDir} is still starting; try again in a moment.`);
}

/** Parses `QUIRE_URL`. Removes a trailing `/v1`, which OpenAI clients require in their base URL. */
export function parseBaseUrl(url: string): string {
  const isHttpUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttpUrl) throw new OperatorError(`QUIRE_URL must be an address such as http://127.0.0.1:8080, not '${url}'.`);
  return url.trim().replace(/\/+$/, '').replace(/\/v1$/, '');
}

interface ApiRequest extends RequestOptions {
  origin: string;
  apiKey: string;
  method: string;
  path: string;
  body: object | undefined;
}

async function request(call: ApiRequest): Promise<Response> {
  const { origin, apiKey, signal } = call;
  let retryAfterMs: number | null = null;
  const attempt = async () => {
    retryAfterMs = null;
    const response = await fetch(origin + call.path, requestInit(call)).catch((error: unknown) => {
      throw connectionError(origin, error);
    });
    const { status, ok, headers } = response;
    const contentType = headers.get('content-type') ?? '';
    if (ok && !contentType.startsWith('text/html')) return response;
    const text = await response.text();
    if (ok) throw notQuireError(origin, { status, contentType, text });
    if (status === 429) retryAfterMs = parseRetryAfter(headers.get('retry-after'));
    throw await withSuggestion(call, responseError(origin, apiKey, { status, contentType, text }));
  };
  return retry(attempt, {
    delaysMs: Array(MAX_RETRIES).fill(0),
    isPassing: () => retryAfterMs !== null,
    retryAfterMs: () => retryAfterMs,
    maxRetryAfterMs: MAX_RETRY_AFTER_MS,
    signal,
  });
}

function requestInit({ apiKey, method, body, signal, idempotencyKey, headers }: ApiRequest): RequestInit {
  const isJson = body !== undefined && !(body instanceof FormData);
  return {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${apiKey}`,
      ...(isJson && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  };
}

/** Adds the most similar model id to the error of an unknown model. */
async function withSuggestion(call: ApiRequest, error: OperatorError): Promise<OperatorError> {
  if (!(error instanceof HttpStatusError) || error.code !== 'model_not_found') return error;
  const response = await request({ ...call, method: 'GET', path: '/v1/models', body: undefined });
  const { data } = (await response.json()) as { data: { id: string }[] };
  const ids = data.map(({ id }) => id);
  const requestedModel = String((call.body as { model?: unknown } | undefined)?.model ?? '');
  const similar = suggestSimilar(requestedModel, ids);
  const nextStep =
    similar === null ? `Models: ${ids.join(', ')}.` : `Did you mean '${similar}'? 'quire models list' shows all.`;
  return new HttpStatusError(error.status, error.detail, { code: error.code, nextStep });
}
