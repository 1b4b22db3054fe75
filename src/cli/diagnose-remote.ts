import type { HealthCheck } from '../health/check-health.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import { connectionError, notQuireError, responseError } from './client-errors.ts';

/** Time limit of one request of the diagnosis. */
const TIMEOUT_MS = 10_000;

/** Result of `quire doctor` for a service at `QUIRE_URL`. */
export interface RemoteDiagnosis {
  service: { url: string; version: string };
  /** The checks of `GET /readyz?verbose`, and one of the API key. */
  checks: HealthCheck[];
}

/** Whether `QUIRE_URL` is the address of the service that runs on the data folder. */
export function isSameService(url: string, localUrl: string | null): boolean {
  if (localUrl === null) return false;
  const [one, other] = [new URL(url), new URL(localUrl)];
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(one.hostname);
  return one.host === other.host || (isLoopback && one.protocol === other.protocol && one.port === other.port);
}

/**
 * Diagnoses the service at a base URL through its API. Throws an `OperatorError` with the next step when it cannot be
 * reached or is not Quire.
 */
export async function diagnoseRemote(origin: string, apiKey: string | null): Promise<RemoteDiagnosis> {
  const { version } = await fetchJson<{ version?: unknown }>(origin, '/version', (body) => 'version' in body);
  const { checks } = await fetchJson<{ checks: HealthCheck[] }>(origin, '/readyz?verbose', (body) => 'checks' in body);
  return { service: { url: origin, version: String(version) }, checks: [...checks, await checkKey(origin, apiKey)] };
}

/** Fetches a JSON object of any status, which must have the expected property. */
async function fetchJson<T>(origin: string, path: string, isExpected: (body: object) => boolean): Promise<T> {
  const response = await get(origin, path);
  const text = await response.text();
  const body = parseJson(text);
  if (isRecord(body) && isExpected(body)) return body as T;
  const contentType = response.headers.get('content-type') ?? '';
  throw notQuireError(origin, { status: response.status, contentType, text });
}

async function checkKey(origin: string, apiKey: string | null): Promise<HealthCheck> {
  const name = 'API key';
  if (apiKey === null) return { name, ok: false, detail: 'QUIRE_API_KEY is not set' };
  const response = await get(origin, '/v1/models', { authorization: `Bearer ${apiKey}` });
  const text = await response.text();
  // 403: a valid key without the scope of this request.
  if (response.ok || response.status === 403) return { name, ok: true, detail: 'accepted' };
  const contentType = response.headers.get('content-type') ?? '';
  const { message } = responseError(origin, apiKey, { status: response.status, contentType, text });
  return { name, ok: false, detail: message };
}

function get(origin: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(origin + path, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: unknown) => {
    throw connectionError(origin, error);
  });
}
