import type { Deps } from '../deps.ts';
import { deleteExpiredContents } from './contents/manage-contents.ts';
import { createPartitions, dropPartitions } from './partitions.ts';

/** Milliseconds of a day. */
const DAY_MS = 86_400_000;

/**
 * Creates the partitions of the coming days, drops expired partitions, and deletes contents whose retention has ended.
 * May run in several processes at once.
 */
export async function maintainRequestLog({ db, config, now }: Pick<Deps, 'db' | 'config' | 'now'>): Promise<void> {
  for (const table of ['request_log', 'request_contents'] as const) {
    await createPartitions(db, table, now());
    await dropPartitions(db, table, now() - config.requestLogDays * DAY_MS);
  }
  await deleteExpiredContents({ db, now });
}
