import { createHash } from 'node:crypto';
import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';
import { retry } from '../../lib/retry.ts';
import { parseRetryAfter } from '../../lib/retry-after.ts';
import { type GuardedHttp, type GuardedResponse, readBody } from '../http/guarded-http.ts';
import type { HostPace } from '../http/host-pace.ts';
import { ServiceError } from '../http/rest-client.ts';
import { pageExtension } from './page-format.ts';
import { type PageFacts, readPage } from './read-page.ts';
import { USER_AGENT } from './robots.ts';

/** Maximum bytes of an HTML page. The largest pages of encyclopedias have 2 MiB. */
const MAX_HTML_BYTES = 8_388_608;
const PAGE_TIMEOUT_MS = 30_000;
/** Delays before the second and later attempts, unless the server demands others. */
const RETRY_DELAYS_MS = [1_000, 4_000, 10_000];
/** Longest `Retry-After` that is waited for. */
const MAX_RETRY_AFTER_MS = 60_000;
const RETRIED: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** What a conditional request sends. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** Result of fetching a URL. */
export type FetchedPage =
  | { kind: 'unchanged' }
  /** The body of an item, with the facts that the crawl needs. `facts` is null for formats other than HTML. */
  | {
      kind: 'page';
      body: Buffer;
      mediaType: string;
      fingerprint: string;
      validators: Validators;
      facts: PageFacts | null;
      /** Whether the JavaScript of the page was run. */
      isRendered?: true;
    }
  | { kind: 'redirect'; target: string }
  /** A page that does not exist, that robots.txt does not allow, or of a format that is not stored. */
  | { kind: 'nothing'; reason: 'not_found' | 'unsupported_file' | 'access_denied' }
  | { kind: 'failed'; error: IngestionError };

/** A page that was fetched. */
export type FetchedHtml = FetchedPage & { kind: 'page' };

/** Dependencies of a fetch. */
export interface PageFetcher {
  http: GuardedHttp;
  pace: HostPace;
  /** Renders pages that need JavaScript; null when the operator has not enabled it. */
  rendering: { render(url: string, page: FetchedHtml, signal: AbortSignal): Promise<FetchedPage> } | null;
}

/**
 * Fetches a page without following redirects, and renders it if it needs JavaScript. Retries on 429, 5xx and network
 * errors, as the server asks. Throws the signal's reason only.
 */
export async function fetchPage(
  { http, pace, rendering }: PageFetcher,
  url: string,
  validators: Validators,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const fetched = await retry(() => pace.run(() => attemptPage(http, url, validators, signal), signal), {
    delaysMs: RETRY_DELAYS_MS,
    isPassing: (error) => (error instanceof ServiceError ? RETRIED.has(error.status) : isNetworkError(error)),
    retryAfterMs: (error) => (error instanceof ServiceError ? error.retryAfterMs : null),
    maxRetryAfterMs: MAX_RETRY_AFTER_MS,
    // The whole host waits: other pages would get the same answer.
    onRetry: (_error, _retries, delayMs) => pace.pause(delayMs),
    signal,
  }).catch((error: unknown): FetchedPage => {
    signal.throwIfAborted();
    if (error instanceof IngestionError) return { kind: 'failed', error };
    throw error;
  });
  if (fetched.kind !== 'page' || !fetched.facts?.needsJavaScript || rendering === null) return fetched;
  // Outside of the pace, which the requests of the page wait for.
  return rendering.render(url, fetched, signal);
}

const isNetworkError = (error: unknown) =>
  error instanceof IngestionError && (error.code === 'timeout' || error.code === 'server_error');

/** Fetches a page once, without following redirects. Throws an `IngestionError`, or the signal's reason. */
export async function attemptPage(
  http: GuardedHttp,
  url: string,
  validators: Validators,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const headers = {
    'user-agent': USER_AGENT,
    accept: 'text/html,application/xhtml+xml,application/pdf,text/markdown,text/plain,*/*;q=0.5',
    ...(validators.etag !== null && { 'if-none-match': validators.etag }),
    ...(validators.lastModified !== null && { 'if-modified-since': validators.lastModified }),
  };
  const response = await http.request(url, { headers, timeoutMs: PAGE_TIMEOUT_MS, follow: () => false }, signal);
  const { status } = response;
  if (status === 200) return readContent(response, url, signal);
  await response.discard();
  if (status === 304) return { kind: 'unchanged' };
  const { location } = response.headers;
  if (status >= 300 && status < 400) {
    if (location === undefined || !URL.canParse(location, url)) return { kind: 'nothing', reason: 'not_found' };
    return { kind: 'redirect', target: new URL(location, url).href };
  }
  if (status === 404 || status === 410) return { kind: 'nothing', reason: 'not_found' };
  throw statusError(response, url);
}

async function readContent(response: GuardedResponse, url: string, signal: AbortSignal): Promise<FetchedPage> {
  const { headers } = response;
  const mediaType = headers['content-type'] ?? '';
  const extension = pageExtension(url, mediaType);
  if (extension === null) {
    await response.discard();
    return { kind: 'nothing', reason: 'unsupported_file' };
  }
  const body = await readBody(response);
  const isHtml = extension === 'html' || extension === 'htm';
  if (isHtml && body.length > MAX_HTML_BYTES) {
    throw new IngestionError('too_large', `The page is larger than ${MAX_HTML_BYTES / 1_048_576} MiB.`);
  }
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(mediaType)?.[1] ?? null;
  const facts = isHtml ? await readPage(body, { url, charset }, signal) : null;
  const robots = headers['x-robots-tag'] ?? '';
  if (facts !== null) {
    facts.noIndex ||= /\b(noindex|none)\b/i.test(robots);
    facts.noFollow ||= /\b(nofollow|none)\b/i.test(robots);
  }
  const fingerprint = facts?.fingerprint ?? createHash('sha256').update(body).digest('hex');
  const validators = { etag: headers['etag'] ?? null, lastModified: headers['last-modified'] ?? null };
  return { kind: 'page', body, mediaType, fingerprint, validators, facts };
}

function statusError({ status, headers }: GuardedResponse, url: string): ServiceError {
  const { host } = new URL(url);
  const codes: Record<number, JobErrorCode> = { 401: 'access_denied', 403: 'access_denied', 429: 'rate_limited' };
  const code = codes[status] ?? (status >= 500 ? 'server_error' : 'not_found');
  return new ServiceError(code, `${host} answers ${status}.`, {
    status,
    retryAfterMs: parseRetryAfter(headers['retry-after']),
  });
}
