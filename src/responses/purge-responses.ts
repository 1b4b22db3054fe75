import type { Deps } from '../deps.ts';
import { deleteExpiredConversations } from './conversation-store.ts';
import { deleteExpiredResponses } from './store.ts';

/** Deletes responses and conversations that have expired: they are not found any more, and take space. */
export async function purgeResponses({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await deleteExpiredResponses(db.sql, new Date(now()));
  await deleteExpiredConversations(db.sql, new Date(now()));
}
