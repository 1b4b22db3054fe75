import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

/** A failed request: the error of the API, or a failure of the network (`status` 0). */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  readonly code: string;
  /** Dotted path of the invalid field; null when no field is to blame. */
  readonly param: string | null;
  /** The `x-request-id`, by which operators find the request in the logs; null without a response. */
  readonly requestId: string | null;

  constructor(
    status: number,
    error: { message: string; code: string; param: string | null },
    requestId: string | null,
  ) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.param = error.param;
    this.requestId = requestId;
  }
}

/** Reads the error of a response. */
export async function toFailure(response: Response): Promise<ApiFailure> {
  const requestId = response.headers.get('x-request-id');
  const fallback = { message: `The service responded with ${response.status}.`, code: 'unknown', param: null };
  const body = await response.json().catch(() => null);
  return new ApiFailure(response.status, body?.error ?? fallback, requestId);
}

/** A failure to reach the service. */
export const networkFailure = (): ApiFailure =>
  new ApiFailure(0, { message: 'The service cannot be reached.', code: 'network', param: null }, null);

/** The API under the session of the browser. Its calls throw `ApiFailure`. */
export const api = createClient<paths>({ baseUrl: globalThis.location.origin });

api.use({
  async onResponse({ response }) {
    if (!response.ok) throw await toFailure(response.clone());
  },
  onError({ error }) {
    return error instanceof ApiFailure ? error : networkFailure();
  },
});

/** Returns the body of a successful call. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  return data as T;
}

/** Interval of a query that is read again every `ms` milliseconds. A failed first read waits for its retry button. */
export const pollEvery =
  (ms: number) =>
  ({ state }: { state: { data: unknown } }): number | false =>
    state.data === undefined ? false : ms;
