import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { Type } from 'typebox';
import { IngestionError } from '../extraction/ingestion-error.ts';
import { MUST } from '../http/validation.ts';
import { COMMON_FIELDS, Endpoint, REMOTE_FIELDS, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { isSupportedFile } from './file-formats.ts';
import type { GuardedHttp } from './http/guarded-http.ts';
import { createS3Handler, toS3Error } from './s3-transport.ts';

/** Bucket naming rules of Amazon S3. */
const BUCKET = {
  pattern: '^(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)(?!.*\\.\\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
  [MUST]:
    'be 3 to 63 lower-case letters, digits, dots and dashes that begin and end with a letter or digit, without two dots in a row, and no IP address',
};
/** Maximum characters of an object key. */
const MAX_KEY_CHARACTERS = 1024;
/** Attempts per request; the SDK waits as the service asks. */
const MAX_ATTEMPTS = 5;

const Config = Type.Object({
  bucket: Type.String(BUCKET),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_KEY_CHARACTERS, description: 'Only objects whose key starts with this prefix.' }),
  ),
  region: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      [MUST]: 'be 1 to 64 lower-case letters, digits and dashes, such as us-east-1',
      default: 'us-east-1',
    }),
  ),
  endpoint: Endpoint('that of AWS in the region'),
  credentials: Type.Object({ access_key_id: Secret, secret_access_key: Secret }),
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

type S3Config = Parameters<NonNullable<Connector<typeof Config>['check']>>[0];

/** Objects of a bucket of Amazon S3 or of a compatible store. */
export const s3: Connector<typeof Config> = {
  type: 's3',
  config: Config,
  secretFields: ['credentials'],
  secretDestinations: ['endpoint'],
  confirmsDeletions: true,
  async checkAccess(http, config, signal) {
    for await (const _page of listPages(http, config, { signal, maxAttempts: 1, objects: 1 })) return;
  },
  async *list({ http }, config, signal) {
    for await (const objects of listPages(http, config, { signal, maxAttempts: MAX_ATTEMPTS, objects: 1000 })) {
      for (const { Key = '', ETag = '', Size = 0 } of objects) {
        if (!isSupportedFile(Key)) continue;
        yield { key: Key, fingerprint: `${ETag} ${Size}`, name: Key, uri: `s3://${config.bucket}/${Key}` };
      }
    }
  },
  async fetch({ http }, config, { key }, signal) {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3');
    const client = await createClient(http, config, MAX_ATTEMPTS);
    try {
      const command = new GetObjectCommand({ Bucket: config.bucket, Key: key });
      const { Body, ContentType, LastModified, Metadata } = await client.send(command, { abortSignal: signal });
      if (Body === undefined) throw new IngestionError('server_error', 'S3 sent an object without content.');
      return {
        bytes: Body as unknown as AsyncIterable<Uint8Array>,
        filename: key,
        mediaType: ContentType ?? null,
        metadata: { ...Metadata, ...(LastModified !== undefined && { last_modified: LastModified.toISOString() }) },
      };
    } catch (error) {
      throw toS3Error(error, signal);
    }
  },
};

async function* listPages(
  http: GuardedHttp,
  config: S3Config,
  { signal, maxAttempts, objects }: { signal: AbortSignal; maxAttempts: number; objects: number },
) {
  const { ListObjectsV2Command } = await import('@aws-sdk/client-s3');
  const client = await createClient(http, config, maxAttempts);
  let ContinuationToken: string | undefined;
  try {
    do {
      const command = new ListObjectsV2Command({
        Bucket: config.bucket,
        MaxKeys: objects,
        ...(config.prefix !== undefined && { Prefix: config.prefix }),
        ...(ContinuationToken !== undefined && { ContinuationToken }),
      });
      const page = await client.send(command, { abortSignal: signal });
      yield page.Contents ?? [];
      if (page.IsTruncated === true && page.NextContinuationToken === undefined) {
        throw new IngestionError('server_error', 'S3 sent a truncated listing without a continuation token.');
      }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  } catch (error) {
    throw toS3Error(error, signal);
  }
}

async function createClient(http: GuardedHttp, config: S3Config, maxAttempts: number): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3');
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = config.credentials;
  return new S3Client({
    region: config.region ?? 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts,
    followRegionRedirects: true,
    ...(config.endpoint !== undefined && { endpoint: config.endpoint, forcePathStyle: true }),
    // Compatible stores lack the SDK's newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: createS3Handler(http) as NonNullable<S3ClientConfig['requestHandler']>,
  });
}
