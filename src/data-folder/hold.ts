import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../lib/logger.ts';
import { tightenPermissions } from '../lib/tighten-permissions.ts';
import { isQuireEntry } from './entries.ts';
import { FolderLock, LOCK_FILE } from './lock.ts';
import { prepareDataFolder } from './prepare.ts';

/** Exit code after the lock was lost: another process may use the folder, so this one must not write to it. */
const LOST_EXIT_CODE = 1;

/**
 * Takes the data folder for this process: creates it if needed, makes it private, and locks it. Permissions of existing
 * entries, as in folders of earlier versions and restored backups, are repaired in the background, and one line is
 * logged. Throws an `OperatorError` when the folder cannot be used or another process holds it. When the lock is lost,
 * the process exits immediately.
 */
export async function holdDataFolder(folder: string, logger: Logger): Promise<{ close(): Promise<void> }> {
  const wasOpen = prepareDataFolder(folder);
  const onLost = () => {
    logger.error(
      { path: join(folder, LOCK_FILE) },
      'lock file removed or replaced while Quire was running: exiting at once, because another process may use the data folder',
    );
    process.exit(LOST_EXIT_CODE);
  };
  const lock = await FolderLock.take(folder, { logger, onLost });
  const stopping = new AbortController();
  const repaired = repairEntries(folder, { wasOpen, logger, signal: stopping.signal });
  return {
    close: async () => {
      stopping.abort();
      await repaired;
      lock.release();
    },
  };
}

/** Entries that Quire does not create keep their permissions: the data folder itself is closed already. */
async function repairEntries(
  folder: string,
  { wasOpen, logger, signal }: { wasOpen: boolean; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const paths = readdirSync(folder)
    .filter(isQuireEntry)
    .map((name) => join(folder, name));
  const { folders, files, failed, firstFailure } = await tightenPermissions(paths, signal);
  const repaired = { folder, folders: folders + (wasOpen ? 1 : 0), files };
  if (repaired.folders + files > 0) logger.warn(repaired, 'data folder was accessible to other users: repaired');
  if (failed > 0) logger.error({ folder, failed, firstFailure }, 'data folder permissions could not be repaired');
}
