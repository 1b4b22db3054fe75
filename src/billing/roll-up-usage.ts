import type { Deps } from '../deps.ts';
import { DAY_MS, deleteRecordsBefore, insertDay, oldestRecordAt, rolledUpUntil } from './usage-store.ts';

/** A day is added up this long after its end: clocks of processes differ, and a record may wait for its last retry. */
const SETTLE_MS = 60 * 60_000;

/**
 * Adds up the usage of every UTC day that has ended, in order, and deletes records older than the retention time, a day
 * at a time. Only days that were added up are deleted. May run in several processes at once.
 */
export async function rollUpUsage({ db, config, now }: Pick<Deps, 'db' | 'config' | 'now'>): Promise<void> {
  const oldest = await oldestRecordAt(db.sql);
  if (oldest === null) return;
  const complete = startOfDay(now() - SETTLE_MS);
  const from = (await rolledUpUntil(db.sql)) ?? startOfDay(oldest);
  for (let day = from; day < complete; day += DAY_MS) await insertDay(db.sql, day);
  const expired = Math.min(complete, startOfDay(now()) - config.usageRetentionDays * DAY_MS);
  for (let day = startOfDay(oldest); day < expired; day += DAY_MS) await deleteRecordsBefore(db.sql, day + DAY_MS);
}

const startOfDay = (time: number): number => time - (time % DAY_MS);
