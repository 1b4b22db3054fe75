import { newBlobKey } from '../blobs/blob-store.ts';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { deleteOrphanedBlob } from './orphaned-blobs.ts';
import { claimOrphanedBlob, type FileRow, insertFile, insertOrphanedBlob } from './store.ts';

/** Stored bytes that belong to no file yet. */
export type StoredContent = Pick<FileRow, 'blobKey' | 'bytes' | 'sha256'>;

/** Time limit of writing one file. The sweep of orphaned blobs relies on it. */
const MAX_WRITE_MS = 60 * 60 * 1000;

/**
 * Stores the bytes of a file. They are orphaned until `commitFile`: after a crash, the sweep deletes them. On
 * errors, nothing is stored.
 */
export async function storeContent(
  deps: Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'>,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<StoredContent> {
  const blobKey = newBlobKey();
  await insertOrphanedBlob(deps.db.sql, blobKey, new Date(deps.now()));
  try {
    const writeSignal = AbortSignal.any([signal, AbortSignal.timeout(MAX_WRITE_MS)]);
    const { bytes, sha256 } = await deps.blobs.put(blobKey, content, writeSignal);
    return { blobKey, bytes, sha256 };
  } catch (error) {
    await deleteOrphanedBlob(deps, blobKey);
    throw error;
  }
}

/** Inserts a file with its stored bytes. Requires a transaction. */
export async function commitFile(sql: Sql, row: FileRow): Promise<void> {
  // The sweep has deleted the bytes.
  if (!(await claimOrphanedBlob(sql, row.blobKey))) throw new Error('the content was deleted as orphaned');
  await insertFile(sql, row);
}
