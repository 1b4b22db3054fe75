import type { BackupProgress } from '../backup/create-backup.ts';
import type { BackupRepository } from '../backup/repository.ts';
import { loadClientConfig } from '../config/client-config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { sendCommand } from './command-client.ts';
import { ProgressLine } from './progress-line.ts';
import { openState } from './run-state-command.ts';

/** Interval at which the progress of a running service is asked for. */
const PROGRESS_MS = 250;

/** Shows the progress of a transfer on stderr. */
export function showBackupProgress(): { show(progress: BackupProgress): void; end(): void } {
  const line = new ProgressLine(process.stderr);
  return {
    show: ({ doneBytes, totalBytes }) => line.show({ receivedBytes: doneBytes, totalBytes }),
    end: () => line.end(),
  };
}

/** Runs a command that needs the database, with its progress: in the running service, otherwise in this process. */
export async function runInState(command: string): Promise<unknown> {
  const reply = await runInService(command, {});
  if (reply !== null) return reply.result;
  const { BACKUP_COMMANDS } = await import('./backup-commands.ts');
  const run = BACKUP_COMMANDS[command];
  if (run === undefined) throw new Error(`no such command: ${command}`);
  return openState({ isReadOnly: true }, (deps) =>
    withProgress(
      async () => deps.backups?.progress ?? null,
      () => run(deps, {}),
    ),
  );
}

/** Runs a command that needs the backup target only: in the running service, otherwise `local` in this process. */
export async function runOnTarget(
  command: string,
  input: Record<string, unknown>,
  local: (repository: BackupRepository, onProgress: (progress: BackupProgress) => void) => Promise<unknown>,
): Promise<unknown> {
  const reply = await runInService(command, input);
  if (reply !== null) return reply.result;
  const { loadConfig } = await import('../config/config.ts');
  return withTarget(loadConfig(), async (repository) => {
    const line = showBackupProgress();
    try {
      return await local(repository, line.show);
    } finally {
      line.end();
    }
  });
}

/** Opens the configured target for `use`. Throws an `OperatorError` without one. */
export async function withTarget<T>(
  { backupUrl, backupPassphrase }: { backupUrl: string | null; backupPassphrase: string | null },
  use: (repository: BackupRepository) => Promise<T>,
): Promise<T> {
  if (backupUrl === null) {
    throw new OperatorError('Set QUIRE_BACKUP_URL to the folder or s3://bucket/prefix that holds the backups.');
  }
  const { openTarget } = await import('../backup/open-target.ts');
  const { BackupRepository } = await import('../backup/repository.ts');
  const target = await openTarget(backupUrl);
  try {
    return await use(await BackupRepository.open(target, backupPassphrase, new AbortController().signal));
  } finally {
    await target.close();
  }
}

/** Null: no service runs on the data folder. */
async function runInService(command: string, input: Record<string, unknown>): Promise<{ result: unknown } | null> {
  const { dataDir } = await loadClientConfig();
  const ask = async () => {
    const reply = await sendCommand(dataDir, { command: 'backup progress', input: {} });
    return (reply?.result ?? null) as BackupProgress | null;
  };
  return withProgress(ask, () => sendCommand(dataDir, { command, input }));
}

async function withProgress<T>(ask: () => Promise<BackupProgress | null>, run: () => Promise<T>): Promise<T> {
  const line = showBackupProgress();
  const timer = setInterval(async () => {
    const progress = await ask().catch(() => null);
    if (progress !== null && timer.hasRef()) line.show(progress);
  }, PROGRESS_MS);
  try {
    return await run();
  } finally {
    clearInterval(timer);
    timer.unref();
    line.end();
  }
}
