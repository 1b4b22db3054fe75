import { isRecord, parseJson } from '../../lib/json.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { retry } from '../../lib/retry.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { HttpStatusError } from '../client-errors.ts';
import { listItems } from '../list-items.ts';

/** Waits before retries of rate limits, errors of the service and lost connections: five minutes in all. */
const RETRY_DELAYS_MS = [1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 60_000, 60_000, 60_000];
/** Longest `Retry-After` that is waited for. */
const MAX_RETRY_AFTER_MS = 300_000;
/** A 429 that no wait ends. */
const QUOTA = 'insufficient_quota';

/** A vector store of an account. */
export interface RemoteStore {
  id: string;
  name: string | null;
  description?: string | null;
  status: string;
  metadata: Record<string, string> | null;
  expires_after?: { days: number } | null;
  file_counts: { total: number };
}

/** A file of a vector store of an account. */
export interface RemoteFile {
  id: string;
  status: string;
  attributes?: Record<string, string | number | boolean> | null;
}

/** Reads vector stores of an account of OpenAI, or of a service with the same API. Waits for rate limits. */
export class OpenAiAccount {
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #signal: AbortSignal;
  readonly #delaysMs: readonly number[];

  constructor(
    { baseUrl, apiKey, delaysMs = RETRY_DELAYS_MS }: { baseUrl: string; apiKey: string; delaysMs?: readonly number[] },
    signal: AbortSignal,
  ) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#signal = signal;
    this.#delaysMs = delaysMs;
  }

  /** Yields every item of a list, oldest first. */
  list<T>(path: string): AsyncGenerator<T> {
    return listItems<T>(path, { order: 'asc' }, (page) => this.json(page));
  }

  /** Sends a GET and parses the JSON response. Throws `HttpStatusError` unless the status is 2xx. */
  async json<T>(path: string): Promise<T> {
    return (await (await this.get(path)).json()) as T;
  }

  /** Sends a GET. The body of the response is not read. Throws `HttpStatusError` unless the status is 2xx. */
  get(path: string): Promise<Response> {
    let retryAfterMs: number | null = null;
    const attempt = async () => {
      retryAfterMs = null;
      const response = await fetch(this.#baseUrl + path, {
        headers: { authorization: `Bearer ${this.#apiKey}`, 'openai-beta': 'assistants=v2' },
        signal: this.#signal,
      });
      if (response.ok) return response;
      retryAfterMs = parseRetryAfter(response.headers.get('retry-after'));
      throw toError(response.status, await response.text());
    };
    return retry(attempt, {
      delaysMs: this.#delaysMs,
      jitter: [0.8, 1.2],
      isPassing: isTransient,
      retryAfterMs: () => retryAfterMs,
      maxRetryAfterMs: MAX_RETRY_AFTER_MS,
      signal: this.#signal,
    }).catch((error: unknown) => {
      if (error instanceof OperatorError || this.#signal.aborted) throw error;
      throw new OperatorError(`${this.#baseUrl} cannot be reached: ${describeError(error)}`);
    });
  }
}

/** Errors without a status are lost connections. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof HttpStatusError)) return true;
  return (error.status === 429 && error.code !== QUOTA) || error.status >= 500;
}

function toError(status: number, text: string): HttpStatusError {
  const body = parseJson(text);
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : {};
  const message = typeof error['message'] === 'string' ? error['message'] : `The account answers ${status}.`;
  const code = typeof error['code'] === 'string' ? error['code'] : null;
  return new HttpStatusError(status, message, {
    code,
    ...(status === 401 && { nextStep: 'Set OPENAI_API_KEY to a key of the account.' }),
  });
}
