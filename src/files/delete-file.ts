import { fileInUse, notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import { deleteOrphanedBlob, type OrphanedBlobDeps } from './orphaned-blobs.ts';
import type { DeletedFile } from './schema.ts';
import { deleteFileRow, insertOrphanedBlob, isFileInUse, lockFile, selectExpiredFiles } from './store.ts';

/** Files of one call of `deleteExpiredFiles`; the next call continues. */
const MAX_EXPIRED_FILES = 500;

/** Deletes a file and its bytes. Throws 404 `file_not_found`, 409 `file_in_use` while a job or batch uses it. */
export async function deleteFile(
  deps: OrphanedBlobDeps & { now(): number },
  organizationId: string,
  id: string,
): Promise<DeletedFile> {
  if (!isId('file', id)) throw notFound('file', id, 'file_id');
  const outcome = await removeFile(deps, organizationId, id);
  if (outcome === 'unknown') throw notFound('file', id, 'file_id');
  if (outcome === 'in use') throw fileInUse(id);
  return { id, object: 'file', deleted: true };
}

/** Deletes files that have expired. Files in use are deleted later. May run in several processes at once. */
export async function deleteExpiredFiles(
  deps: OrphanedBlobDeps & { now(): number },
  signal: AbortSignal,
): Promise<void> {
  const expired = await selectExpiredFiles(deps.db.sql, new Date(deps.now()), MAX_EXPIRED_FILES);
  for (const { organizationId, id } of expired) {
    if (signal.aborted) return;
    await removeFile(deps, organizationId, id);
  }
}

async function removeFile(
  deps: OrphanedBlobDeps & { now(): number },
  organizationId: string,
  id: string,
): Promise<'removed' | 'unknown' | 'in use'> {
  const removed = await deps.db.sql.transaction(async (sql) => {
    const row = await lockFile(sql, organizationId, id);
    if (row === null) return 'unknown';
    if (await isFileInUse(sql, id)) return 'in use';
    await deleteFileRow(sql, organizationId, id);
    await insertOrphanedBlob(sql, row.blobKey, new Date(deps.now()));
    return row;
  });
  if (typeof removed === 'string') return removed;
  await deleteOrphanedBlob(deps, removed.blobKey);
  return 'removed';
}
