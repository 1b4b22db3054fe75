import type { Deps } from '../deps.ts';
import { describeError } from '../lib/operator-error.ts';
import { deleteLooseBlob, selectLooseBlobs, updateDropped } from './store.ts';

/**
 * Longer than an upload may take (`MAX_UPLOAD_MS`), so that what is listed since then and not a file belongs to a process
 * that has ended.
 */
const ABANDONED_MS = 2 * 60 * 60 * 1000;
/** Keys that are read at once. */
const BATCH = 100;
/** A store that takes longer than this to remove one blob is asked again at the next sweep. */
const DELETE_TIMEOUT_MS = 30_000;

/** What the removal of bytes needs. */
export type LooseBlobDeps = Pick<Deps, 'db' | 'blobs' | 'logger'>;

/** Removes a listed blob now. A store that does not do it is logged, not thrown: the sweep will try again. */
export async function dropLooseBlob(deps: LooseBlobDeps, blobKey: string): Promise<void> {
  try {
    await removeLooseBlob(deps, blobKey);
  } catch (error) {
    deps.logger.warn(
      { blobKey, reason: describeError(error) },
      'bytes of no file could not be removed; the sweep will',
    );
  }
}

/**
 * Removes the bytes that ended processes left behind: of uploads that did not come to their end, and of deleted files.
 * `startedAt` and now in milliseconds since 1970. Where no other process can have this database open, whatever was
 * listed before this one started is left behind; else what is too old to be on its way.
 */
export async function deleteOrphanedBlobs(deps: LooseBlobDeps & Pick<Deps, 'now'>, startedAt: number): Promise<void> {
  const abandonedAt = deps.now() - ABANDONED_MS;
  const before = new Date(deps.db.kind === 'embedded' ? Math.max(startedAt, abandonedAt) : abandonedAt);
  for (;;) {
    const keys = await selectLooseBlobs(deps.db.sql, before, BATCH);
    for (const key of keys) await removeLooseBlob(deps, key);
    if (keys.length < BATCH) return;
  }
}

async function removeLooseBlob({ db, blobs }: LooseBlobDeps, blobKey: string): Promise<void> {
  // A transaction that makes a file of it, and whose end nobody heard, is waited for here, and wins.
  if (!(await updateDropped(db.sql, blobKey))) return;
  await blobs.delete(blobKey, AbortSignal.timeout(DELETE_TIMEOUT_MS));
  await deleteLooseBlob(db.sql, blobKey);
}
