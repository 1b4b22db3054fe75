import type { Deps } from '../../deps.ts';
import { deleteExpired } from '../store.ts';

/** Deletes sessions and invitations that have expired. May run in several processes at once. */
export async function pruneSessions({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await deleteExpired(db.sql, new Date(now()));
}
