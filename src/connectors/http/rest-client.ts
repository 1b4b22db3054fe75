import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';
import { parseJson } from '../../lib/json.ts';
import { retry } from '../../lib/retry.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { type GuardedHttp, type GuardedRequest, type GuardedResponse, readBody } from './guarded-http.ts';
import type { HostPace } from './host-pace.ts';

/** Delays before the second and later attempts, unless the service demands others. */
const RETRY_DELAYS_MS = [500, 2_000, 5_000, 15_000];
/** Longest `Retry-After` that is waited for. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Maximum bytes of a JSON response: a page of 1,000 objects has about 1 MiB. */
const MAX_JSON_BYTES = 33_554_432;
/** Maximum bytes of a downloaded file, as for uploads. */
const MAX_FILE_BYTES = 536_870_912;
const DOWNLOAD_TIMEOUT_MS = 900_000;
/** Characters of a service's message that an error quotes. */
const MAX_MESSAGE_CHARACTERS = 300;

/** Codes of statuses below 500; others mean that the connector and the service do not fit, which no retry changes. */
const CODES: Readonly<Record<number, JobErrorCode>> = {
  401: 'authentication_failed',
  403: 'access_denied',
  404: 'not_found',
  408: 'timeout',
  // Notion: the object was being saved.
  409: 'server_error',
  410: 'not_found',
  413: 'too_large',
  425: 'rate_limited',
  429: 'rate_limited',
};

/** Returns the code of an error status of a service. */
export function toErrorCode(status: number): JobErrorCode {
  return CODES[status] ?? (status >= 400 && status < 500 ? 'connector_unavailable' : 'server_error');
}

/** Errors that the next attempt may not meet. */
const PASSING: ReadonlySet<JobErrorCode> = new Set(['timeout', 'server_error', 'rate_limited']);

/** A response of a service with an error status. */
export class ServiceError extends IngestionError {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(
    code: JobErrorCode,
    message: string,
    { status, retryAfterMs }: Pick<ServiceError, 'status' | 'retryAfterMs'>,
  ) {
    super(code, message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** How to talk to a service. */
export interface RestClientOptions {
  http: GuardedHttp;
  /** Name in error messages, such as `Notion`. */
  service: string;
  /** Headers with the credentials. */
  headers: () => Promise<Record<string, string>>;
  /** Finds the message in the JSON of an error. */
  errorMessage: (body: unknown) => string | undefined;
  /** The code of an error that its body tells better than its status; undefined for others. */
  errorCode?: (status: number, body: unknown) => JobErrorCode | undefined;
  /** Limits the rate. */
  pace?: HostPace;
  /** Number of retries; 0 for checks that must answer soon. */
  retries?: number | undefined;
}

/** Reads the items of a listing, page by page. `load` returns the cursor of the next page, or null for the last one. */
export async function* readPages<T>(
  load: (cursor: string | null) => Promise<{ items: readonly T[] | undefined; next: string | null | undefined }>,
): AsyncGenerator<T> {
  for (let cursor: string | null = null; ; ) {
    const { items = [], next } = await load(cursor);
    yield* items;
    if (next === null || next === undefined) return;
    if (next === cursor) throw new IngestionError('server_error', 'The service repeats a page of a listing.');
    cursor = next;
  }
}

/** Client of a JSON API. Retries as the service asks, and translates its errors to `IngestionError`. */
export class RestClient {
  readonly #options: RestClientOptions;

  constructor(options: RestClientOptions) {
    this.#options = options;
  }

  /** Returns the JSON of a response. */
  async json<T>(url: string, signal: AbortSignal, request: GuardedRequest = {}): Promise<T> {
    const response = await this.#send(url, { maxBytes: MAX_JSON_BYTES, ...request }, signal);
    const text = (await readBody(response)).toString();
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new IngestionError('server_error', `${this.#options.service} sent a response that is not JSON.`, error);
    }
  }

  /** Returns the response of a download. */
  download(url: string, signal: AbortSignal): Promise<GuardedResponse> {
    return this.#send(url, { maxBytes: MAX_FILE_BYTES, timeoutMs: DOWNLOAD_TIMEOUT_MS }, signal);
  }

  async #send(url: string, request: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> {
    const { headers: credentials, retries } = this.#options;
    // Credentials have retries of their own.
    let isSent = false;
    const attempt = async () => {
      isSent = false;
      const headers = { accept: 'application/json', ...(await credentials()), ...request.headers };
      isSent = true;
      return this.#attempt(url, { ...request, headers }, signal);
    };
    return retry(attempt, {
      delaysMs: RETRY_DELAYS_MS.slice(0, retries),
      isPassing: (error) => isSent && error instanceof IngestionError && PASSING.has(error.code),
      retryAfterMs: (error) => (error instanceof ServiceError ? error.retryAfterMs : null),
      maxRetryAfterMs: MAX_RETRY_AFTER_MS,
      signal,
    });
  }

  async #attempt(url: string, request: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> {
    const { http, pace } = this.#options;
    const send = () => http.request(url, request, signal);
    const response = await (pace === undefined ? send() : pace.run(send, signal));
    if (response.status >= 300) throw await this.#readError(response);
    return response;
  }

  async #readError(response: GuardedResponse): Promise<ServiceError> {
    const { service, errorMessage, errorCode } = this.#options;
    const { status, headers } = response;
    const body = parseJson((await readBody(response)).toString());
    const code = errorCode?.(status, body) ?? toErrorCode(status);
    // A proxy may answer with another JSON than the service.
    const text: unknown = errorMessage(body);
    const detail = typeof text === 'string' ? `: ${text.slice(0, MAX_MESSAGE_CHARACTERS).replace(/\.$/, '')}` : '';
    const message = `${service} answers ${status}${detail}.`;
    return new ServiceError(code, message, { status, retryAfterMs: parseRetryAfter(headers['retry-after']) });
  }
}
