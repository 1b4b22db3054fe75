import { addAbortSignal, Readable } from 'node:stream';
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
import { BlobMissing, type BlobStore, requireBlobKey } from './blob-store.ts';
import { Meter } from './meter.ts';
import { putInParts } from './s3-parts.ts';
import { parseS3Url, type S3Location } from './s3-url.ts';

/** A store that takes longer than this to accept a connection is down for the one who waits. */
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection over which nothing moves for this long is broken. */
const IDLE_TIMEOUT_MS = 60_000;
/** Downloads hold a connection as long as their readers take; beyond this many, requests wait. */
const MAX_CONNECTIONS = 256;
/** Requests that failed on their way, or with 5xx, are sent this often in all. */
const MAX_ATTEMPTS = 4;

/**
 * A bucket of an S3-compatible store, by its URL (see `parseS3Url`). Credentials come from where every client of AWS
 * looks for them: the environment, `~/.aws`, the machine's role. Throws a `OperatorError` for a wrong URL; whether the
 * store answers is for `check`.
 */
export function openS3(url: string): BlobStore {
  const location = parseS3Url(url);
  const client = createClient(location);
  const { bucket: Bucket, prefix } = location;
  const at = (key: string) => {
    requireBlobKey(key);
    return { Bucket, Key: prefix + key };
  };
  return {
    kind: 's3',
    put: async (key, source, signal) => {
      const meter = new Meter();
      await putInParts(client, at(key), meter.pass(source, signal), signal);
      return meter.result();
    },
    read: async (key, range, signal) => {
      const Range = range === null ? undefined : `bytes=${range.start}-${range.end}`;
      const command = new GetObjectCommand({ ...at(key), ...(Range !== undefined && { Range }) });
      const found = await unlessAbsent(client.send(command, { abortSignal: signal }));
      if (found === null) throw new BlobMissing(key);
      if (!(found.Body instanceof Readable)) throw new Error('the store answered without a body');
      return addAbortSignal(signal, found.Body);
    },
    size: async (key, signal) => {
      const found = await unlessAbsent(client.send(new HeadObjectCommand(at(key)), { abortSignal: signal }));
      return found === null ? null : (found.ContentLength ?? 0);
    },
    delete: async (key, signal) => {
      await unlessAbsent(client.send(new DeleteObjectCommand(at(key)), { abortSignal: signal }));
      await abandonUploads(client, at(key), signal);
    },
    check: (signal) => checkBucket(client, location, signal),
    close: async () => client.destroy(),
  };
}

function createClient({ endpoint, region, pathStyle }: S3Location): S3Client {
  const agent = { maxSockets: MAX_CONNECTIONS, keepAlive: true };
  return new S3Client({
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
    // The SDK's newer checksums are unknown to some compatible stores. Ours is the SHA-256 that the database keeps.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Parts that were sent for a key by a process which has ended: they would be paid for, and shown by no listing. */
async function abandonUploads(
  client: S3Client,
  { Bucket, Key }: { Bucket: string; Key: string },
  signal: AbortSignal,
): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }), {
    abortSignal: signal,
  });
  for (const { UploadId } of Uploads) {
    await unlessAbsent(
      client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal: signal }),
    );
  }
}

async function unlessAbsent<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return null;
    throw error;
  }
}

async function checkBucket(client: S3Client, { bucket, endpoint }: S3Location, signal: AbortSignal): Promise<void> {
  try {
    await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: signal });
  } catch (error) {
    const status = error instanceof S3ServiceException ? ` (${error.$metadata.httpStatusCode})` : '';
    const where = `The bucket ${bucket}${endpoint === null ? '' : ` at ${endpoint}`}`;
    throw new OperatorError(`${where} does not answer: ${describeError(error)}${status}`);
  }
}
