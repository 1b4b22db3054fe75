import { removeChat } from '../chats/manage-chats.ts';
import { selectExpiredChats, selectLeftChats } from '../chats/store.ts';
import type { Deps } from '../deps.ts';

/** Chats of one call and reason; the next call continues. */
const MAX_CHATS = 500;

/**
 * Deletes the chats of users that have left the organization, which nobody can read any more, and those whose last
 * message is older than the retention of the organization. May run in several processes at once.
 */
export async function purgeChats(deps: Pick<Deps, 'db' | 'logger' | 'now'>, signal: AbortSignal): Promise<void> {
  const left = await selectLeftChats(deps.db.sql, MAX_CHATS);
  const expired = await selectExpiredChats(deps.db.sql, new Date(deps.now()), MAX_CHATS);
  let deleted = 0;
  for (const { id, organizationId, ownerId } of [...left, ...expired]) {
    if (signal.aborted) break;
    if (await removeChat(deps, { organizationId, keyId: ownerId }, id)) deleted += 1;
  }
  if (deleted > 0) deps.logger.info({ deleted }, 'chats deleted');
}
