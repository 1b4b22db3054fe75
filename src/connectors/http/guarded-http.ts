import type { LookupFunction } from 'node:net';
import { type Dispatcher, errors, request } from 'undici';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { AddressPolicy } from '../../lib/address-policy.ts';
import { describeError } from '../../lib/operator-error.ts';
import { ACCEPTED_ENCODINGS, decodeBody, tooManyBytes } from './decode-body.ts';
import { BlockedAddressError, createGuardedDispatcher } from './guarded-connect.ts';

/** Maximum redirects of one request. */
const MAX_REDIRECTS = 10;
/** Default maximum of decompressed bytes of a response. */
const MAX_BYTES = 33_554_432;
/** Default time limit of a request with its body. */
const TIMEOUT_MS = 60_000;
/** Bytes of a redirect's body that are read to reuse the connection. */
const MAX_DUMPED_BYTES = 65_536;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that are not sent to another origin. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const TIMEOUT_ERRORS = [errors.ConnectTimeoutError, errors.HeadersTimeoutError, errors.BodyTimeoutError];

/** A request of a connector. */
export interface GuardedRequest {
  method?: Dispatcher.HttpMethod;
  /** Lower-case names. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** Maximum bytes of the decompressed body. */
  maxBytes?: number;
  /** Time limit including the body. */
  timeoutMs?: number;
  /** Time limit without a byte of the head or the body; the limit of the connection unless given. */
  idleMs?: number;
  /** Whether to follow a redirect. When false, the response is the redirect itself. */
  follow?: (url: URL) => boolean | Promise<boolean>;
}

/** The response to a `GuardedRequest`. */
export interface GuardedResponse {
  /** URL after redirects. */
  url: string;
  status: number;
  headers: Record<string, string | undefined>;
  /** Decompressed body. Read it completely or call `discard`. Throws `IngestionError`. */
  body: AsyncIterable<Uint8Array>;
  /** Ends the response without reading its body. */
  discard(): Promise<void>;
}

/**
 * HTTP client of the connectors. Connects only to public addresses and to those that the operator allows
 * (`AddressPolicy`), on every hop of a redirect. Throws `IngestionError`: `blocked_url`, `timeout`, `too_large`,
 * `server_error` for other failures of the network. A response with an error status is a response.
 */
export class GuardedHttp {
  readonly #dispatcher: Dispatcher;

  /** `allowedHosts`: the setting `QUIRE_ALLOW_PRIVATE_HOSTS`. */
  constructor(allowedHosts: readonly string[] | null, lookup?: LookupFunction) {
    this.#dispatcher = createGuardedDispatcher(new AddressPolicy(allowedHosts ?? []), lookup);
  }

  /** Sends a request. Follows redirects of GET and HEAD. Throws the signal's reason. */
  async request(url: string, options: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
    const scope = { signal: AbortSignal.any([signal, timeout]), caller: signal };
    const { method = 'GET', follow = () => true } = options;
    let current = requireHttpUrl(url);
    let headers = { 'accept-encoding': ACCEPTED_ENCODINGS, ...options.headers };
    for (let redirects = 0; ; redirects++) {
      const response = await this.#send(current, { ...options, headers }, scope);
      const target = method === 'GET' || method === 'HEAD' ? redirectTarget(response, current) : null;
      if (target === null || !(await follow(target))) return response;
      await response.discard();
      if (redirects === MAX_REDIRECTS) {
        throw new IngestionError('server_error', `${current.host} redirects more than ${MAX_REDIRECTS} times.`);
      }
      headers = redirectHeaders(headers, current, target);
      current = requireHttpUrl(target.href);
    }
  }

  /** Closes all connections. May be called twice. */
  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async #send(
    url: URL,
    { method = 'GET', headers, body, maxBytes = MAX_BYTES, idleMs }: GuardedRequest,
    { signal, caller }: { signal: AbortSignal; caller: AbortSignal },
  ): Promise<GuardedResponse> {
    const translate = (error: unknown) => (caller.aborted ? caller.reason : networkError(error, url));
    try {
      const response = await request(url, {
        method,
        headers: { ...headers },
        signal,
        dispatcher: this.#dispatcher,
        ...(body !== undefined && { body }),
        ...(idleMs !== undefined && { headersTimeout: idleMs, bodyTimeout: idleMs }),
      });
      const fields = joinHeaders(response.headers);
      const discard = async () => response.body.dump({ limit: MAX_DUMPED_BYTES }).catch(() => {});
      if (Number(fields['content-length'] ?? 0) > maxBytes && method !== 'HEAD') {
        response.body.on('error', () => {}).destroy();
        throw tooManyBytes(maxBytes);
      }
      const decoded = decodeBody(response.body, fields['content-encoding'], maxBytes);
      return {
        url: url.href,
        status: response.statusCode,
        headers: fields,
        body: translated(decoded, translate),
        discard,
      };
    } catch (error) {
      throw translate(error);
    }
  }
}

/** Reads a response body completely. */
export async function readBody(response: GuardedResponse): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(response.body));
}

/** Returns the URL without credentials and fragment. Throws `blocked_url` unless the scheme is http or https. */
function requireHttpUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw new IngestionError('blocked_url', 'The URL is not an http or https URL.');
  }
  parsed.username = '';
  parsed.password = '';
  parsed.hash = '';
  return parsed;
}

function redirectTarget({ status, headers }: GuardedResponse, base: URL): URL | null {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined || !URL.canParse(location, base.href)) return null;
  return new URL(location, base);
}

/** Headers of a request that follows a redirect: without credentials when scheme, host or port change. */
export function redirectHeaders<Headers extends Readonly<Record<string, string>>>(
  headers: Headers,
  from: URL,
  to: URL,
): Headers {
  if (from.origin === to.origin) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL_HEADERS.has(name))) as Headers;
}

function joinHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

async function* translated<T>(items: AsyncIterable<T>, translate: (error: unknown) => unknown): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw translate(error);
  }
}

function networkError(error: unknown, { host }: URL): unknown {
  if (error instanceof IngestionError) return error;
  if (error instanceof BlockedAddressError) {
    const message = `${host} has a private or otherwise blocked address. An operator can allow it with QUIRE_ALLOW_PRIVATE_HOSTS.`;
    return new IngestionError('blocked_url', message, error);
  }
  const isTimeout = TIMEOUT_ERRORS.some((type) => error instanceof type) || (error as Error)?.name === 'TimeoutError';
  if (isTimeout) return new IngestionError('timeout', `${host} did not answer in time.`, error);
  const { code } = Object(error) as { code?: unknown };
  const suffix = typeof code === 'string' ? ` (${code})` : '';
  return new IngestionError(
    'server_error',
    `The connection to ${host} failed${suffix}.`,
    new Error(describeError(error)),
  );
}
