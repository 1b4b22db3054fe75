import type { Deps } from '../deps.ts';
import { deleteExpiredResponses } from './store.ts';

/** Deletes responses that have expired: they are not found any more, and take space. */
export async function purgeResponses({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await deleteExpiredResponses(db.sql, new Date(now()));
}
