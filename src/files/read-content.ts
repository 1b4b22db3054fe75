import type { Readable } from 'node:stream';
import { BlobNotFoundError, type ByteRange } from '../blobs/blob-store.ts';
import type { Deps } from '../deps.ts';
import { serverError } from '../errors.ts';
import type { FileRow } from './store.ts';

/** Reads a file or a range of it. Throws 500 `server_error` when the blob is missing. */
export async function readContent(
  deps: Pick<Deps, 'blobs'>,
  row: FileRow,
  range: ByteRange | null,
  signal: AbortSignal,
): Promise<Readable> {
  try {
    return await deps.blobs.read(row.blobKey, range, signal);
  } catch (error) {
    if (error instanceof BlobNotFoundError)
      throw serverError(new Error(`blob of ${row.id} is missing`, { cause: error }));
    throw error;
  }
}
