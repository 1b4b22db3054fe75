import { removeChat } from '../chats/manage-chats.ts';
import { selectLeftChats } from '../chats/store.ts';
import type { Deps } from '../deps.ts';

/** Chats of one call; the next call continues. */
const MAX_CHATS = 500;

/**
 * Deletes the chats of users that have left the organization: nobody can read them any more. May run in several
 * processes at once.
 */
export async function purgeLeftChats(deps: Pick<Deps, 'db' | 'logger'>, signal: AbortSignal): Promise<void> {
  let deleted = 0;
  for (const { id, organizationId, ownerId } of await selectLeftChats(deps.db.sql, MAX_CHATS)) {
    if (signal.aborted) break;
    if (await removeChat(deps, { organizationId, keyId: ownerId }, id)) deleted += 1;
  }
  if (deleted > 0) deps.logger.info({ deleted }, 'chats of former members deleted');
}
