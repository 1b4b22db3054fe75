import type { Backups } from '../backup/backups.ts';
import { type BackupProgress, totalBytes } from '../backup/create-backup.ts';
import type { BackupManifest } from '../backup/manifest.ts';
import { reachableWal, usableBackups } from '../backup/plan-restore.ts';
import type { BackupRepository } from '../backup/repository.ts';
import { readInventory } from '../backup/restore-backup.ts';
import { type Verification, verifyBackup } from '../backup/verify-backup.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { StateCommand, StateDeps } from './state-command.ts';

/** One base backup, a row of `quire backup list`. Times are ISO 8601 in UTC. */
export interface BackupRow {
  id: string;
  created: string;
  /** Range of the times that can be restored; null when none can. */
  from: string | null;
  until: string | null;
  bytes: number;
  files: number;
  has_secrets_key: boolean;
}

/** Result of `quire backup verify`. */
export interface VerificationReport {
  backups: Verification[];
  defects: string[];
}

/** Commands on backups. `backup progress` returns the progress of the running one. */
export const BACKUP_COMMANDS: Readonly<Record<string, StateCommand>> = {
  'backup create': async (deps) => describeBackup(await requireBackups(deps).create(), null),
  'backup progress': async ({ backups }) => backups?.progress ?? null,
  'backup list': async (deps) => listBackups(await openRepository(deps)),
  'backup verify': async (deps, input) => {
    const backups = requireBackups(deps);
    const onProgress = (progress: BackupProgress) => {
      backups.progress = progress;
    };
    try {
      return await verifyBackups(await openRepository(deps), input['id'] as string | null, onProgress);
    } finally {
      backups.progress = null;
    }
  },
};

const never = new AbortController().signal;

function requireBackups({ backups }: Pick<StateDeps, 'backups'>): Backups {
  if (backups !== null) return backups;
  throw new OperatorError(
    'No backups are configured. Set QUIRE_BACKUP_URL to a folder or s3://bucket/prefix, and restart the service.',
  );
}

const openRepository = (deps: StateDeps): Promise<BackupRepository> => requireBackups(deps).openRepository(never);

/** Lists the complete backups of a target with the times that can be restored. */
export async function listBackups(repository: BackupRepository): Promise<BackupRow[]> {
  const inventory = await readInventory(repository, never);
  const usable = new Set(usableBackups(inventory));
  return inventory.backups.map((backup) => {
    const row = describeBackup(backup, null);
    if (!usable.has(backup)) return { ...row, from: null };
    try {
      return { ...row, until: new Date(reachableWal(inventory, backup).untilMs).toISOString() };
    } catch (error) {
      if (error instanceof OperatorError) return { ...row, from: null };
      throw error;
    }
  });
}

/** Verifies a backup, or all backups of a target. */
export async function verifyBackups(
  repository: BackupRepository,
  id: string | null,
  onProgress: (progress: BackupProgress) => void,
): Promise<VerificationReport> {
  const damaged: string[] = [];
  const all = await repository.listBackups(never, damaged);
  const chosen = id === null ? all : all.filter((backup) => backup.id === id);
  if (chosen.length === 0 && damaged.length === 0) {
    throw new OperatorError(
      id === null ? 'The backup target holds no complete backup.' : `There is no backup '${id}'.`,
    );
  }
  const backups: Verification[] = [];
  for (const backup of chosen) backups.push(await verifyBackup(repository, backup, onProgress, never));
  const defects = [...damaged.map((name) => `${name} is damaged.`), ...backups.flatMap((each) => each.defects)];
  return { backups, defects: [...new Set(defects)] };
}

function describeBackup(backup: BackupManifest, untilMs: number | null): BackupRow {
  return {
    id: backup.id,
    created: new Date(backup.startedAt).toISOString(),
    from: new Date(backup.consistentAt).toISOString(),
    until: untilMs === null ? null : new Date(untilMs).toISOString(),
    bytes: totalBytes(backup),
    files: backup.blobs.count,
    has_secrets_key: backup.hasSecretsKey,
  };
}
