import { type ChatHistoryDeps, removeChat } from '../chats/manage-chats.ts';
import { type ChatRow, selectExpiredChats, selectLeftChats } from '../chats/store.ts';
import { deletePromptsOfFormerMembers } from '../prompts/store.ts';

/** Maximum number of rows deleted per call and reason. The next call continues. */
const MAX_CHATS = 500;

/**
 * Deletes chats and personal prompts of users who have left the organization, because nobody can access them, and chats
 * whose last message is older than the retention. May run in several processes at once.
 */
export async function purgeChats(deps: ChatHistoryDeps, signal: AbortSignal): Promise<void> {
  const left = await selectLeftChats(deps.db.sql, MAX_CHATS);
  const expired = await selectExpiredChats(deps.db.sql, new Date(deps.now()), MAX_CHATS);
  let deleted = 0;
  for (const { id, organizationId, ownerId, updatedAt } of [...left, ...expired]) {
    if (signal.aborted) break;
    const isUnchanged = (chat: ChatRow) => chat.updatedAt <= updatedAt;
    if (await removeChat(deps, { organizationId, keyId: ownerId }, id, isUnchanged)) deleted += 1;
  }
  const prompts = await deletePromptsOfFormerMembers(deps.db.sql, MAX_CHATS);
  if (deleted + prompts > 0) deps.logger.info({ deleted, prompts }, 'chats deleted');
}
