import { fileInUse, notFound } from '../errors.ts';
import { isId } from '../lib/ids.ts';
import { deleteOrphanedBlob, type OrphanedBlobDeps } from './orphaned-blobs.ts';
import type { DeletedFile } from './schema.ts';
import { deleteFileRow, insertOrphanedBlob, isFileInUse, lockFile } from './store.ts';

/** Deletes a file and its bytes. Throws 404 `file_not_found`, 409 `file_in_use` while a job or batch uses it. */
export async function deleteFile(
  deps: OrphanedBlobDeps & { now(): number },
  organizationId: string,
  id: string,
): Promise<DeletedFile> {
  if (!isId('file', id)) throw notFound('file', id, 'file_id');
  const blobKey = await deps.db.sql.transaction(async (sql) => {
    const row = await lockFile(sql, organizationId, id);
    if (row === null) throw notFound('file', id, 'file_id');
    if (await isFileInUse(sql, id)) throw fileInUse(id);
    await deleteFileRow(sql, organizationId, id);
    await insertOrphanedBlob(sql, row.blobKey, new Date(deps.now()));
    return row.blobKey;
  });
  await deleteOrphanedBlob(deps, blobKey);
  return { id, object: 'file', deleted: true };
}
