import type { Readable } from 'node:stream';
import { BlobMissing, type ByteRange } from '../blobs/blob-store.ts';
import type { Deps } from '../deps.ts';
import { serverError } from '../errors.ts';
import type { FileRow } from './store.ts';

/** The file's bytes, or a range of them. A file without its bytes is our fault, or the operator's who took them: 500. */
export async function readContent(
  deps: Pick<Deps, 'blobs'>,
  row: FileRow,
  range: ByteRange | null,
  signal: AbortSignal,
): Promise<Readable> {
  try {
    return await deps.blobs.read(row.blobKey, range, signal);
  } catch (error) {
    if (error instanceof BlobMissing) throw serverError(new Error(`the bytes of ${row.id} are gone`, { cause: error }));
    throw error;
  }
}
