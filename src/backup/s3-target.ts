import { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { destroyOnAbort } from '../blobs/destroy-on-abort.ts';
import { putMultipart } from '../blobs/s3-multipart.ts';
import { createClient, nullIfNotFound, translateErrors, withHeadTimeout } from '../blobs/s3-store.ts';
import { parseS3Url } from '../blobs/s3-url.ts';
import { type BackupTarget, requireObjectName } from './target.ts';

/** Opens a bucket of an S3-compatible store as a backup target. Throws an `OperatorError` for an invalid URL. */
export function openS3Target(url: string): BackupTarget {
  const location = parseS3Url(url, 'QUIRE_BACKUP_URL');
  const client = createClient(location);
  const { bucket: Bucket, prefix, endpoint } = location;
  const locate = (name: string) => {
    requireObjectName(name);
    return { Bucket, Key: prefix + name };
  };
  return {
    location: `s3://${Bucket}/${prefix}${endpoint === null ? '' : ` at ${endpoint}`}`,
    put: (name, source, signal) => putMultipart(client, locate(name), source, signal),
    read: async (name, signal) => {
      const command = new GetObjectCommand(locate(name));
      const response = await nullIfNotFound(withHeadTimeout(signal, (options) => client.send(command, options)));
      if (response === null) return null;
      if (!(response.Body instanceof Readable)) throw new Error('the store sent a response without a body');
      const body = destroyOnAbort(response.Body, signal);
      return destroyOnAbort(Readable.from(translateErrors(body, location), { objectMode: false }), signal);
    },
    list: async function* (namePrefix, signal) {
      for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
        const command = new ListObjectsV2Command({
          Bucket,
          Prefix: prefix + namePrefix,
          ...(token !== undefined && { ContinuationToken: token }),
        });
        const page = await withHeadTimeout(signal, (options) => client.send(command, options));
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
          yield { name: Key.slice(prefix.length), bytes: Size, modifiedMs: LastModified?.getTime() ?? 0 };
        }
        token = page.NextContinuationToken;
      }
    },
    delete: async (name, signal) => {
      const command = new DeleteObjectCommand(locate(name));
      await nullIfNotFound(withHeadTimeout(signal, (options) => client.send(command, options)));
    },
    close: async () => client.destroy(),
  };
}
