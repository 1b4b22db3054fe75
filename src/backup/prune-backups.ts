import type { Deps } from '../deps.ts';
import type { BackupManifest } from './manifest.ts';
import { type BackupRepository, baseObjectName, secretsObjectName } from './repository.ts';
import { isContentUsed } from './store.ts';
import type { WalArchiver } from './wal-archiver.ts';
import { isSegment, segmentNumber } from './wal-names.ts';

/** Dependencies of the retention of backups. */
export type PruneDeps = Pick<Deps, 'db' | 'logger'> & { archiver: Pick<WalArchiver, 'deleteContent'> };

/**
 * Deletes the oldest base backups beyond `keep`, and then what no remaining one needs: older WAL, and contents of files
 * that were deleted before the oldest remaining one. May be called twice.
 */
export async function pruneBackups(
  deps: PruneDeps,
  repository: BackupRepository,
  keep: number,
  signal: AbortSignal,
): Promise<void> {
  const backups = await repository.listBackups(signal);
  const outdated = backups.slice(0, -keep);
  const [oldest] = backups.slice(-keep);
  if (oldest === undefined) return;
  for (const { id } of outdated) {
    // Without its manifest, the backup is no longer listed, and the next run deletes what is left.
    await repository.target.delete(baseObjectName(id, 'manifest'), signal);
    await repository.deleteAll(baseObjectName(id, ''), signal);
    await repository.target.delete(secretsObjectName(id), signal);
  }
  const wal = await deleteWal(repository, oldest, signal);
  const blobs = await deleteBlobs(deps, repository, backups.slice(-keep), signal);
  if (outdated.length + wal + blobs > 0) {
    deps.logger.info({ backups: outdated.length, wal, blobs }, 'outdated backups deleted');
  }
}

/** Positions in the WAL grow across timelines, so the timeline does not matter. */
async function deleteWal(repository: BackupRepository, oldest: BackupManifest, signal: AbortSignal): Promise<number> {
  const first = segmentNumber(oldest.firstSegment);
  let deleted = 0;
  for (const { name, file } of await repository.listWal(signal)) {
    if (!isSegment(file) || segmentNumber(file) >= first) continue;
    await repository.target.delete(name, signal);
    deleted += 1;
  }
  return deleted;
}

/** Maximum difference of the clocks of the target and of this machine. */
const CLOCK_SKEW_MS = 3_600_000;
/** First digits of hashes: the contents of one digit are looked at together. */
const DIGITS = [...'0123456789abcdef'];

/**
 * A content is needed when a remaining backup lists it, when a file has it, and when it was archived after the oldest
 * remaining backup began: a file with it may have been created and deleted between two backups.
 */
async function deleteBlobs(
  { db, archiver }: PruneDeps,
  repository: BackupRepository,
  remaining: readonly BackupManifest[],
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  const startedAt = remaining[0]?.startedAt ?? 0;
  for (const digit of DIGITS) {
    const old = new Map<string, string>();
    for await (const { name, modifiedMs } of repository.list(`blobs/${digit}`, signal)) {
      if (modifiedMs < startedAt - CLOCK_SKEW_MS) old.set(name.slice(name.lastIndexOf('/') + 1), name);
    }
    if (old.size === 0) continue;
    for (const { id } of remaining) {
      for await (const { sha256 } of repository.readBlobList(id, signal)) old.delete(sha256);
    }
    for (const [sha256, name] of old) {
      const isDeleted = await archiver.deleteContent(sha256, async () => {
        if (await isContentUsed(db.sql, sha256)) return false;
        await repository.target.delete(name, signal);
        return true;
      });
      if (isDeleted) deleted += 1;
    }
  }
  return deleted;
}
