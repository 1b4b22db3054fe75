import type { Readable } from 'node:stream';
import { Agent, type Dispatcher, EnvHttpProxyAgent, errors, request } from 'undici';
import type { Config } from '../../config.ts';
import { describeError, OperatorError } from '../../lib/operator-error.ts';

/** Hubs redirect once or twice, renamed repositories once more. */
const MAX_REDIRECTS = 8;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** A server that is there accepts a connection in this time. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Storage that was not asked for in a while takes its time to find a file. */
const HEADERS_TIMEOUT_MS = 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

/** What the transfer failed of may be over when it is tried again. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  /** Seconds that the server asks to wait; null: it does not say. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A bearer key, and the one server that it is for. */
export interface HubToken {
  value: string;
  origin: string;
}

/** An answer whose body has not been read. Whoever holds it must read the body or destroy it. */
export interface FileResponse {
  status: number;
  header(name: string): string | null;
  body: Readable;
  /** What the first server says of the file, wherever it then sends who asks: its SHA-256 and its bytes. */
  linked: { sha256: string | null; bytes: number | null };
}

/** How files are asked for. */
export interface FetchFileOptions {
  token: HubToken | null;
  dispatchers: Dispatchers;
  headers: Record<string, string>;
}

/**
 * Connections for `http:` and `https:` URLs, through the proxies of the environment where it names any. To be closed
 * after use.
 */
export class Dispatchers {
  readonly #plain: Dispatcher;
  readonly #secure: Dispatcher;

  constructor(proxy: Config['proxy']) {
    const connect = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };
    // An absent value would be read from the environment, and a lone HTTP proxy would be used for https too.
    const agent = (httpProxy: string | null, httpsProxy: string | null) =>
      proxy === null
        ? new Agent(connect)
        : new EnvHttpProxyAgent({
            ...connect,
            httpProxy: httpProxy ?? '',
            httpsProxy: httpsProxy ?? '',
            noProxy: proxy.noProxy ?? '',
          });
    this.#plain = agent(proxy?.httpProxy ?? null, null);
    this.#secure = agent(null, proxy?.httpsProxy ?? null);
  }

  of(url: URL): Dispatcher {
    return url.protocol === 'https:' ? this.#secure : this.#plain;
  }

  /** Breaks what is under way. */
  async close(): Promise<void> {
    await Promise.all([this.#plain.destroy(), this.#secure.destroy()]);
  }
}

/**
 * Asks for a file and follows redirects, within bounds and never from https to http. The token goes to its own server
 * only, and to none after the first redirect to another one. Throws a `TransferError` when no server answers.
 */
export async function fetchFile(url: URL, options: FetchFileOptions, signal: AbortSignal): Promise<FileResponse> {
  const linked: FileResponse['linked'] = { sha256: null, bytes: null };
  let at = url;
  let isForeignOrigin = false;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const { statusCode, headers, body } = await ask(
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

async function ask(url: URL, options: FetchFileOptions, authorization: string | null, signal: AbortSignal) {
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  try {
    return await request(plain, {
      dispatcher: options.dispatchers.of(plain),
      signal,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Whoever reads the body watches its pace.
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
    throw new TransferError(`${plain.origin} does not answer: ${describeTransferError(error)}`);
  }
}

function authorizationFor(url: URL, { token }: FetchFileOptions): string | null {
  if (url.username !== '') {
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }
  return token !== null && token.origin === url.origin ? `Bearer ${token.value}` : null;
}

/** The Hugging Face hub, and mirrors that speak as it does, tell of a large file before they redirect to its storage. */
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
      `${from.origin} redirects to ${next.origin}, which is not encrypted; that is not followed.`,
    );
  }
  return next;
}

/** Why a transfer ended, in words for the operator. */
export function describeTransferError(error: unknown): string {
  if (error instanceof errors.ConnectTimeoutError) return `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`;
  if (error instanceof errors.HeadersTimeoutError) return `no answer within ${HEADERS_TIMEOUT_MS / 1000} s`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return describeError(cause) || 'the connection broke';
}
