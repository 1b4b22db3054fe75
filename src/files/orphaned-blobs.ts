import type { Deps } from '../deps.ts';
import { describeError } from '../lib/operator-error.ts';
import { deleteOrphanedBlobRow, markOrphanedBlobDeleting, selectOrphanedBlobs } from './store.ts';

/**
 * Age after which an uncommitted blob is orphaned: longer than the time limit of writing a file (`MAX_WRITE_MS`), so
 * the process that wrote it has ended.
 */
const ORPHAN_AGE_MS = 2 * 60 * 60 * 1000;
/** Keys per query. */
const BATCH_SIZE = 100;
/** Timeout of one deletion; the next sweep retries. */
const DELETE_TIMEOUT_MS = 30_000;

/** Dependencies of blob deletion. */
export type OrphanedBlobDeps = Pick<Deps, 'db' | 'blobs' | 'logger'>;

/** Deletes an orphaned blob now. Logs errors of the store instead of throwing them: the next sweep retries. */
export async function deleteOrphanedBlob(deps: OrphanedBlobDeps, blobKey: string): Promise<void> {
  try {
    await deleteBlob(deps, blobKey);
  } catch (error) {
    deps.logger.warn({ blobKey, reason: describeError(error) }, 'orphaned blob not deleted; the next sweep retries');
  }
}

/**
 * Deletes blobs of unfinished uploads and deleted files that ended processes left behind. `startedAt`: start of this
 * process, Unix milliseconds. With the embedded database, which one process uses, every blob listed before `startedAt`
 * is orphaned. Otherwise only blobs older than `ORPHAN_AGE_MS`.
 */
export async function deleteOrphanedBlobs(
  deps: OrphanedBlobDeps & Pick<Deps, 'now'>,
  startedAt: number,
): Promise<void> {
  const orphanedBefore = deps.now() - ORPHAN_AGE_MS;
  const before = new Date(deps.db.isExclusive ? Math.max(startedAt, orphanedBefore) : orphanedBefore);
  for (;;) {
    const keys = await selectOrphanedBlobs(deps.db.sql, before, BATCH_SIZE);
    for (const key of keys) await deleteBlob(deps, key);
    if (keys.length < BATCH_SIZE) return;
  }
}

async function deleteBlob({ db, blobs }: OrphanedBlobDeps, blobKey: string): Promise<void> {
  // Waits for a concurrent transaction that commits the blob as a file; that transaction wins.
  if (!(await markOrphanedBlobDeleting(db.sql, blobKey))) return;
  await blobs.delete(blobKey, AbortSignal.timeout(DELETE_TIMEOUT_MS));
  await deleteOrphanedBlobRow(db.sql, blobKey);
}
