import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { StoreUnavailableError } from '../lib/store-unavailable.ts';
import { BlobNotFoundError, type BlobStore, requireBlobKey } from './blob-store.ts';
import { destroyOnAbort } from './destroy-on-abort.ts';
import { Meter } from './meter.ts';
import { putMultipart } from './s3-multipart.ts';
import { parseS3Url, type S3Location } from './s3-url.ts';

/** Timeout of connection attempts. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Idle timeout of connections during a request. */
const IDLE_TIMEOUT_MS = 60_000;
/** Connection pool size. A download occupies a connection until its reader has finished. */
const MAX_CONNECTIONS = 256;
/** Maximum number of attempts per request (network errors and 5xx are retried). */
const MAX_ATTEMPTS = 4;
/** Limit of all attempts of a request until the head of its response. A store that hangs counts as unavailable. */
const HEAD_TIMEOUT_MS = 20_000;
/** Error codes of Node for connections that break or cannot be made, and names of the SDK for timeouts. */
const NETWORK_CODE =
  /^(E(CONN[A-Z]+|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL|NOTFOUND|AI_AGAIN)|ERR_STREAM_PREMATURE_CLOSE)$/;
const NETWORK_NAME = /^(TimeoutError|RequestTimeout|NetworkingError)$/;

/**
 * Opens a bucket of an S3-compatible store by URL (see `parseS3Url`), with the default credential chain of AWS
 * (environment, `~/.aws`, instance role). Throws an `OperatorError` for an invalid URL. Does not connect; `check` does.
 */
export function openS3Store(url: string): BlobStore {
  const location = parseS3Url(url);
  const client = createClient(location);
  const { bucket: Bucket, prefix } = location;
  const locate = (key: string) => {
    requireBlobKey(key);
    return { Bucket, Key: prefix + key };
  };
  return {
    kind: 's3',
    put: async (key, source, signal) => {
      const meter = new Meter();
      await putMultipart(client, locate(key), meter.pass(source, signal), signal);
      return meter.result();
    },
    read: async (key, range, signal) => {
      const Range = range === null ? undefined : `bytes=${range.start}-${range.end}`;
      const command = new GetObjectCommand({ ...locate(key), ...(Range !== undefined && { Range }) });
      const response = await nullIfNotFound(withHeadTimeout(signal, (options) => client.send(command, options)));
      if (response === null) throw new BlobNotFoundError(key);
      if (!(response.Body instanceof Readable)) throw new Error('the store sent a response without a body');
      const body = destroyOnAbort(response.Body, signal);
      return destroyOnAbort(Readable.from(translateErrors(body, location), { objectMode: false }), signal);
    },
    size: async (key, signal) => {
      const command = new HeadObjectCommand(locate(key));
      const response = await nullIfNotFound(withHeadTimeout(signal, (options) => client.send(command, options)));
      return response === null ? null : (response.ContentLength ?? 0);
    },
    delete: async (key, signal) => {
      const command = new DeleteObjectCommand(locate(key));
      await nullIfNotFound(withHeadTimeout(signal, (options) => client.send(command, options)));
      await abortUploads(client, locate(key), signal);
    },
    check: (signal) => checkBucket(client, location, signal),
    close: async () => client.destroy(),
  };
}

/** Creates a client of the store of a location. Its errors of outages are `StoreUnavailableError`s. */
export function createClient(location: S3Location): S3Client {
  const { endpoint, region, pathStyle } = location;
  const agent = { maxSockets: MAX_CONNECTIONS, keepAlive: true };
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint }),
    forcePathStyle: pathStyle,
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: IDLE_TIMEOUT_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
    // Some compatible stores lack the SDK's newer checksums. The database stores the SHA-256 of each file.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  // The middleware of the first step runs around all attempts, so it receives the error of the last one.
  client.middlewareStack.add(
    (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        throw translateError(error, location);
      }
    },
    { step: 'initialize', name: 'translateErrors' },
  );
  return client;
}

/** Converts the error of an outage to a `StoreUnavailableError`. */
function translateError(error: unknown, { bucket, endpoint }: S3Location): unknown {
  const { code, name, $metadata } = Object(error) as { code?: string; name?: string } & Partial<S3ServiceException>;
  const status = $metadata?.httpStatusCode;
  const isOutage =
    status === undefined
      ? NETWORK_CODE.test(code ?? '') || NETWORK_NAME.test(name ?? '')
      : status >= 500 || status === 429;
  if (!isOutage) return error;
  const where = `The bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`;
  const reason = `${describeError(error)}${status === undefined ? '' : ` (${status})`}`;
  return new StoreUnavailableError(`${where} does not respond: ${reason}`, error);
}

/** Passes a body through: its connection may break after the head of the response. */
export async function* translateErrors(body: Readable, location: S3Location): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw translateError(error, location);
  }
}

/** Aborts a request whose response has not begun in time. */
export async function withHeadTimeout<T>(
  signal: AbortSignal,
  send: (options: { abortSignal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const tooLate = new AbortController();
  const reason = new StoreUnavailableError(`The S3 store did not respond within ${HEAD_TIMEOUT_MS / 1000} s.`);
  const timer = setTimeout(() => tooLate.abort(reason), HEAD_TIMEOUT_MS);
  try {
    return await send({ abortSignal: AbortSignal.any([signal, tooLate.signal]) });
  } catch (error) {
    // The SDK throws its own error class for aborted requests.
    throw tooLate.signal.aborted && !signal.aborted ? reason : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts multipart uploads of ended processes for a key: their parts are billed, and no object listing shows them. */
async function abortUploads(
  client: S3Client,
  { Bucket, Key }: { Bucket: string; Key: string },
  signal: AbortSignal,
): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }), {
    abortSignal: signal,
  });
  for (const { UploadId } of Uploads) {
    await nullIfNotFound(
      client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal: signal }),
    );
  }
}

/** Resolves with null for a response with status 404. */
export async function nullIfNotFound<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return null;
    throw error;
  }
}

async function checkBucket(client: S3Client, { bucket, endpoint }: S3Location, signal: AbortSignal): Promise<void> {
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: signal });
  } catch (error) {
    if (error instanceof StoreUnavailableError) throw error;
    const status = error instanceof S3ServiceException ? ` (${error.$metadata.httpStatusCode})` : '';
    const where = `The bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`;
    throw new OperatorError(`${where} does not respond: ${describeError(error)}${status}`);
  }
}
