import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../db/db.ts';
import { openEmbedded } from '../db/embedded/open-embedded.ts';
import { archiveSettings } from '../db/embedded/settings.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import type { RestorePlan } from './plan-restore.ts';
import type { BackupRepository } from './repository.ts';
import { RESTORE_COMMAND, WalFeed } from './wal-feed.ts';

/** PostgreSQL's error when no commit is later than the target time. */
const TARGET_NOT_REACHED = 'recovery ended before configured recovery target was reached';

/** A recovery of restored files. */
export interface Recovery {
  cluster: string;
  repository: BackupRepository;
  plan: RestorePlan;
  /** Unix milliseconds; null: all WAL is replayed. */
  atMs: number | null;
  logger: Logger;
}

/**
 * Replays the archived WAL on the files of a base backup. Returns the recovered database, on a new timeline; closing it
 * stops its server. Later changes stay marked for the archive.
 */
export async function recoverCluster(recovery: Recovery): Promise<Database> {
  const { cluster, repository, plan, atMs } = recovery;
  await writeFile(join(cluster, 'recovery.signal'), '', { mode: 0o600 });
  const feed = await WalFeed.start(cluster, repository, plan.wal);
  try {
    const db = await replay(recovery, feed, atMs);
    try {
      feed.throwIfFailed();
      return db;
    } catch (error) {
      await db.close();
      throw error;
    }
  } finally {
    await feed.stop();
  }
}

async function replay(recovery: Recovery, feed: WalFeed, atMs: number | null): Promise<Database> {
  try {
    return await openRecovering(recovery, atMs);
  } catch (error) {
    feed.throwIfFailed();
    const reason = describeError(error);
    // The archived WAL is complete up to a time after the target (`planRestore`), so the end of it is the target.
    if (atMs !== null && reason.includes(TARGET_NOT_REACHED)) return openRecovering(recovery, null);
    throw new OperatorError(`The backup ${recovery.plan.backup.id} cannot be restored. ${reason}`, { cause: error });
  }
}

function openRecovering({ cluster, logger }: Recovery, atMs: number | null): Promise<Database> {
  const settings = {
    // Marks the history of the new timeline for the archive, so that no other restore takes the same number.
    ...archiveSettings(0),
    // Connections are accepted after the end of recovery only.
    hot_standby: 'off',
    restore_command: RESTORE_COMMAND,
    recovery_target_timeline: 'latest',
    recovery_target_action: 'promote',
    ...(atMs !== null && { recovery_target_time: formatTimestamp(atMs) }),
  };
  const onGiveUp = (reason: string) => logger.error({ reason }, 'restored database does not stay up');
  return openEmbedded({ folder: cluster, logger, settings, onGiveUp });
}

/** PostgreSQL's own format: it rejects some forms of ISO 8601 in this setting. */
const formatTimestamp = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', '+00');
