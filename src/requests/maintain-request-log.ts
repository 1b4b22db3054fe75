import type { Deps } from '../deps.ts';
import { createPartitions, dropPartitions } from './partitions.ts';

/** Creates the partitions of the coming days, and drops the old ones. May run in several processes at once. */
export async function maintainRequestLog({ db, config, now }: Pick<Deps, 'db' | 'config' | 'now'>): Promise<void> {
  await createPartitions(db, now());
  await dropPartitions(db, now(), config.requestLogDays);
}
