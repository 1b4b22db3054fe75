import { Readable } from 'node:stream';
import { IngestionError, type JobErrorCode } from '../extraction/ingestion-error.ts';
import type { GuardedHttp } from './http/guarded-http.ts';
import { toErrorCode } from './http/rest-client.ts';

/** Maximum bytes of an object, as for uploads. */
const MAX_OBJECT_BYTES = 536_870_912;
const OBJECT_TIMEOUT_MS = 900_000;

/** https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
const CODES: Readonly<Record<string, JobErrorCode>> = {
  AccessDenied: 'access_denied',
  AllAccessDisabled: 'access_denied',
  AccountProblem: 'access_denied',
  InvalidObjectState: 'access_denied',
  InvalidAccessKeyId: 'authentication_failed',
  SignatureDoesNotMatch: 'authentication_failed',
  ExpiredToken: 'authentication_failed',
  InvalidToken: 'authentication_failed',
  NoSuchBucket: 'not_found',
  NoSuchKey: 'not_found',
  NotFound: 'not_found',
  // 400, when the body of a request did not arrive in time.
  RequestTimeout: 'timeout',
  SlowDown: 'rate_limited',
  TooManyRequests: 'rate_limited',
};

/** The part of an HTTP request of the SDK that is used. */
interface SdkRequest {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  method: string;
  headers: Record<string, string>;
  query?: Record<string, string | string[] | null>;
  body?: unknown;
}

/** Creates a request handler for the SDK of AWS that sends requests through the guarded client. */
export function createS3Handler(http: GuardedHttp) {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request: SdkRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) {
      const { host: _host, ...headers } = request.headers;
      const options = {
        method: request.method as 'GET',
        headers,
        maxBytes: MAX_OBJECT_BYTES,
        timeoutMs: OBJECT_TIMEOUT_MS,
        // The SDK follows redirects between regions with a new signature.
        follow: () => false,
      };
      try {
        const response = await http.request(toUrl(request), options, abortSignal ?? new AbortController().signal);
        const body = Readable.from(response.body, { objectMode: false });
        return { response: { statusCode: response.status, headers: response.headers, body } };
      } catch (error) {
        if (!(error instanceof IngestionError) || error.code === 'blocked_url') throw error;
        // The SDK retries errors of this name.
        throw Object.assign(new Error(error.message, { cause: error }), { name: 'TimeoutError' });
      }
    },
    destroy: () => {},
  };
}

function toUrl({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => (one === null ? escapeUri(name) : `${escapeUri(name)}=${escapeUri(one)}`)),
  );
  const search = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`;
}

/** Encodes as the signature expects. */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Translates an error of the SDK. Returns the signal's reason after an abort. */
export function toS3Error(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof IngestionError) return error;
  const {
    name = '',
    cause,
    message = '',
    $metadata,
  } = Object(error) as Error & { $metadata?: { httpStatusCode?: number } };
  if (cause instanceof IngestionError) return cause;
  const status = $metadata?.httpStatusCode;
  if (status === undefined) return error;
  return new IngestionError(
    CODES[name] ?? toErrorCode(status),
    `S3 answers ${status}: ${name} (${message.slice(0, 300)}).`,
    error,
  );
}
