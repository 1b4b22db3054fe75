import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupProgress } from '../backup/create-backup.ts';
import { planRestore, type RestoreRequest } from '../backup/plan-restore.ts';
import type { BackupRepository } from '../backup/repository.ts';
import { type Restored, readInventory, restoreBackup } from '../backup/restore-backup.ts';
import { type ProcessLifecycle, SHUTDOWN_ORDER } from '../boot/shutdown-order.ts';
import { openBlobs } from '../boot/stores.ts';
import type { Config } from '../config/config.ts';
import { holdDataFolder } from '../data-folder/hold.ts';
import { listFolder } from '../lib/create-folder.ts';
import { Lifecycle } from '../lib/lifecycle.ts';
import { createLogger, openLogDestination } from '../lib/logger.ts';
import { OperatorError } from '../lib/operator-error.ts';

interface RestoreTarget {
  config: Config;
  repository: BackupRepository;
  show(progress: BackupProgress): void;
  end(): void;
}

/**
 * Restores into the configured data folder, which must be empty, and holds its lock meanwhile. Empties it again when
 * that fails.
 */
export async function restoreDataFolder(
  { config, repository, show, end }: RestoreTarget,
  request: RestoreRequest,
): Promise<Restored> {
  const { dataDir } = config;
  if ((await listEntries(dataDir)).length > 0) {
    throw new OperatorError(
      `The folder ${dataDir} is not empty. Restore into a new folder (--to), or move this one away. Nothing was changed.`,
    );
  }
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort(new OperatorError('Stopped.')));
  const plan = planRestore(await readInventory(repository, stopping.signal), request);
  const level = config.logLevel === 'info' ? 'warn' : config.logLevel;
  const logger = createLogger(level, await openLogDestination(config.logFormat));
  const lifecycle: ProcessLifecycle = new Lifecycle(SHUTDOWN_ORDER);
  try {
    await lifecycle.start(
      'data folder',
      () => holdDataFolder(dataDir, logger),
      (held) => held.close(),
    );
    const deps = {
      repository,
      dataDir,
      logger,
      openBlobs: () => openBlobs(config, lifecycle),
      onProgress: show,
      onRecovery: () => {
        end();
        console.error('Replaying the archived WAL ...');
      },
    };
    return await restoreBackup(deps, plan, request.atMs, stopping.signal);
  } catch (error) {
    for (const name of await listEntries(dataDir)) await rm(join(dataDir, name), { recursive: true, force: true });
    throw error;
  } finally {
    await lifecycle.stop(() => {});
  }
}

async function listEntries(folder: string): Promise<string[]> {
  return (await listFolder(folder)).filter((name) => name !== 'lost+found');
}
