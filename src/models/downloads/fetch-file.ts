import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, errors, request } from 'undici';
import { describeError, OperatorError } from '../../lib/operator-error.ts';
import { createProxyAgent, type ProxySettings } from '../../lib/proxy.ts';

/** Hubs redirect once or twice, renamed repositories once more. */
const MAX_REDIRECTS = 8;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const CONNECT_TIMEOUT_MS = 10_000;
/** Object storage may need this long to locate a cold file. */
const HEADERS_TIMEOUT_MS = 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

/** A transfer failure that is worth a retry. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  /** `Retry-After` of the server; 0 when absent. */
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A bearer token, and the only origin it is sent to. */
export interface HubToken {
  value: string;
  origin: string;
}

/** A response whose body is unread. The caller must read or destroy the body. */
export interface FileResponse {
  status: number;
  header(name: string): string | null;
  body: Readable;
  /** SHA-256 and length of the file as the first server states them, before any redirect. */
  linked: { sha256: string | null; bytes: number | null };
}

/** Options of one request. */
export interface FetchFileOptions {
  token: HubToken | null;
  dispatchers: Dispatchers;
  headers: Record<string, string>;
}

/** Connection pools for `http:` and `https:` URLs, through the configured proxies. Close after use. */
export class Dispatchers {
  readonly #plain: Dispatcher;
  readonly #secure: Dispatcher;

  constructor(proxy: ProxySettings | null) {
    const connect = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };
    const create = (protocol: string) =>
      proxy === null ? new Agent(connect) : createProxyAgent(proxy, protocol, connect);
    this.#plain = create('http:');
    this.#secure = create('https:');
  }

  /** The pool for a URL. */
  forUrl(url: URL): Dispatcher {
    return url.protocol === 'https:' ? this.#secure : this.#plain;
  }

  /** Aborts all transfers. */
  async close(): Promise<void> {
    await Promise.all([this.#plain.destroy(), this.#secure.destroy()]);
  }
}

/**
 * Requests a file and follows at most eight redirects, never from https to http. The token is sent to its own origin
 * only, and no longer after a redirect to another origin. Throws a `TransferError` when a server does not respond.
 */
export async function fetchFile(url: URL, options: FetchFileOptions, signal: AbortSignal): Promise<FileResponse> {
  const linked: FileResponse['linked'] = { sha256: null, bytes: null };
  let at = url;
  let isForeignOrigin = false;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const { statusCode, headers, body } = await send(
      at,
      options,
      isForeignOrigin ? null : authorizationFor(at, options),
      signal,
    );
    const header = (name: string) => [headers[name]].flat()[0] ?? null;
    if (!isForeignOrigin) readLinkedMetadata(linked, header);
    const location = REDIRECTS.has(statusCode) ? header('location') : null;
    if (location === null) return { status: statusCode, header, body, linked };
    await body.dump({ limit: 65_536, signal }).catch(() => {});
    const next = resolveRedirect(at, location);
    isForeignOrigin ||= next.origin !== url.origin;
    at = next;
  }
  throw new OperatorError(
    `${url.origin} redirects more than ${MAX_REDIRECTS} times; the address of the file is wrong.`,
  );
}

async function send(url: URL, options: FetchFileOptions, authorization: string | null, signal: AbortSignal) {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  try {
    return await request(plain, {
      dispatcher: options.dispatchers.forUrl(plain),
      signal,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // The reader of the body detects stalls.
      bodyTimeout: 0,
      headers: {
        'accept-encoding': 'identity',
        'user-agent': 'quire',
        ...options.headers,
        ...(authorization !== null && { authorization }),
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new TransferError(`${plain.origin} does not respond: ${describeTransferError(error)}`);
  }
}

function authorizationFor(url: URL, { token }: FetchFileOptions): string | null {
  if (url.username !== '') {
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }
  return token !== null && token.origin === url.origin ? `Bearer ${token.value}` : null;
}

/** The Hugging Face hub and its mirrors state hash and length in headers of the redirect to their storage. */
function readLinkedMetadata(linked: FileResponse['linked'], header: (name: string) => string | null): void {
  const sha256 = header('x-linked-etag')?.replace(/^W\//, '').replaceAll('"', '').toLowerCase();
  const bytes = Number(header('x-linked-size') ?? Number.NaN);
  if (sha256 !== undefined && SHA256.test(sha256)) linked.sha256 = sha256;
  if (Number.isSafeInteger(bytes) && bytes >= 0) linked.bytes = bytes;
}

function resolveRedirect(from: URL, location: string): URL {
  const next = URL.parse(location, from.href);
  if (next === null || !/^https?:$/.test(next.protocol)) {
    throw new OperatorError(`${from.origin} redirects to '${location.slice(0, 200)}', which is no web address.`);
  }
  if (from.protocol === 'https:' && next.protocol === 'http:') {
    throw new OperatorError(
      `${from.origin} redirects to ${next.origin}, which is not encrypted; the redirect was not followed.`,
    );
  }
  return next;
}

/** Describes a transfer failure for the operator. */
export function describeTransferError(error: unknown): string {
  if (error instanceof errors.ConnectTimeoutError) return `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`;
  if (error instanceof errors.HeadersTimeoutError) return `no response within ${HEADERS_TIMEOUT_MS / 1000} s`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return describeError(cause) || 'the connection was closed';
}
