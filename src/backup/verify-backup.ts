import { Meter } from '../blobs/meter.ts';
import { DamagedObjectError } from './codec.ts';
import { type BackupProgress, totalBytes } from './create-backup.ts';
import type { BackupManifest } from './manifest.ts';
import { readPack } from './packs.ts';
import { reachableWal, usableBackups } from './plan-restore.ts';
import { type BackupRepository, blobObjectName, secretsObjectName } from './repository.ts';
import { readInventory } from './restore-backup.ts';
import { type ArchivedWal, isSegment, SEGMENT_BYTES } from './wal-names.ts';

/** Result of a verification. */
export interface Verification {
  id: string;
  /** Objects that were read. */
  objects: number;
  /** Objects that are missing or damaged, and gaps, one sentence each. */
  defects: string[];
  /** Latest time that can be restored from the backup, Unix milliseconds; null when none can. */
  untilMs: number | null;
}

/** Reads everything that a restore of a base backup needs, and compares sizes and hashes. Changes nothing. */
export async function verifyBackup(
  repository: BackupRepository,
  backup: BackupManifest,
  onProgress: (progress: BackupProgress) => void,
  signal: AbortSignal,
): Promise<Verification> {
  const progress = { doneBytes: 0, totalBytes: totalBytes(backup) };
  const result: Verification = { id: backup.id, objects: 0, defects: [], untilMs: null };
  const drain = async (content: AsyncIterable<Uint8Array>) => {
    for await (const bytes of content) {
      progress.doneBytes += bytes.byteLength;
      progress.totalBytes = Math.max(progress.totalBytes, progress.doneBytes);
      onProgress(progress);
    }
  };
  const check = async (name: string, read: (source: AsyncIterable<Uint8Array>) => Promise<void>) => {
    result.objects += 1;
    try {
      await read(await repository.read(name, signal));
    } catch (error) {
      if (!(error instanceof DamagedObjectError)) throw error;
      result.defects.push(`${error.message}.`);
    }
  };
  for (const pack of backup.packs) {
    await check(pack.name, (source) => readPack({ ...pack, source }, (_, content) => drain(content), signal));
  }
  if (backup.hasSecretsKey) await check(secretsObjectName(backup.id), drain);
  for (const blob of await readBlobs(repository, backup.id, result, signal)) {
    const name = blobObjectName(blob.sha256);
    const pack = { name, files: [blob] };
    await check(name, (source) => readPack({ ...pack, source }, (_, content) => drain(content), signal));
  }
  for (const { name, file } of await findWal(repository, backup, result, signal)) {
    await check(name, async (source) => {
      const meter = new Meter();
      await drain(meter.pass(source, signal));
      const isComplete = !isSegment(file) || meter.result().bytes === SEGMENT_BYTES;
      if (!isComplete) throw new DamagedObjectError(`${name} is damaged`);
    });
  }
  return result;
}

async function readBlobs(
  repository: BackupRepository,
  id: string,
  result: Verification,
  signal: AbortSignal,
): Promise<{ sha256: string; bytes: number }[]> {
  try {
    return await Array.fromAsync(repository.readBlobList(id, signal));
  } catch (error) {
    if (!(error instanceof DamagedObjectError)) throw error;
    result.defects.push(`${error.message}.`);
    return [];
  }
}

async function findWal(
  repository: BackupRepository,
  backup: BackupManifest,
  result: Verification,
  signal: AbortSignal,
): Promise<readonly ArchivedWal[]> {
  const inventory = await readInventory(repository, signal);
  if (!usableBackups(inventory).some(({ id }) => id === backup.id)) {
    result.defects.push(`The backup ${backup.id} belongs to a state that a later restore abandoned.`);
    return [];
  }
  try {
    const { wal, untilMs } = reachableWal(inventory, backup);
    result.untilMs = untilMs;
    return wal;
  } catch (error) {
    result.defects.push((error as Error).message);
    return [];
  }
}
