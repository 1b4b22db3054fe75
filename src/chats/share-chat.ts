import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { selectOwnedResponses } from '../responses/store.ts';
import { newToken } from '../users/tokens.ts';
import { findChat } from './manage-chats.ts';
import type { ChatShare, SharedChat, SharedChatMessage } from './share-schema.ts';
import { type ChatShareRow, deleteShareRow, selectShare, selectSharedChat, upsertShare } from './share-store.ts';
import { selectBranchMessages, selectMessageTree } from './store.ts';
import { viewExchanges } from './view-exchange.ts';

type ShareDeps = Pick<Deps, 'db' | 'now'>;

/** Format of link ids (`newToken`). */
const SHARE_ID = /^[\w-]{43}$/;

/**
 * Shares the current branch of a chat with the members of the organization. A chat has one link: sharing again keeps
 * the link and updates the shared branch. Throws the errors of `findChat`, and 400 for a chat without messages.
 */
export async function shareChat(deps: ShareDeps, call: Call, chatId: string): Promise<ChatShare> {
  const chat = await findChat(deps, call, chatId);
  if (chat.currentMessageId === null) throw invalidValue('chat_id', 'names a chat without messages');
  const { title, currentMessageId: messageId } = chat;
  const row = { id: newToken(), chatId: chat.id, title, messageId, createdAt: new Date(deps.now()) };
  return viewShare(await upsertShare(deps.db.sql, row));
}

/** Returns the link of a chat. Throws the errors of `findChat`, and 404 `chat_share_not_found` if there is no link. */
export async function getShare(deps: ShareDeps, call: Call, chatId: string): Promise<ChatShare> {
  const chat = await findChat(deps, call, chatId);
  const row = await selectShare(deps.db.sql, chat.id);
  if (row === null) throw notFound('chat_share', chat.id, 'chat_id');
  return viewShare(row);
}

/** Revokes the link of a chat. Throws the errors of `getShare`. */
export async function deleteShare(deps: ShareDeps, call: Call, chatId: string) {
  const chat = await findChat(deps, call, chatId);
  const id = await deleteShareRow(deps.db.sql, chat.id);
  if (id === null) throw notFound('chat_share', chat.id, 'chat_id');
  return { id, object: 'chat.share' as const, deleted: true as const };
}

/** Returns a shared chat. Throws 404 `shared_chat_not_found`, also for chats of other organizations. */
export async function getSharedChat(deps: ShareDeps, call: Call, id: string): Promise<SharedChat> {
  const { title, ownerName, createdAt } = await findShared(deps, call, id);
  return { id, object: 'chat.shared', title, owner_name: ownerName, shared_at: toUnixSeconds(createdAt) };
}

/** Lists the messages of a shared chat, oldest first. Throws the errors of `getSharedChat`. */
export async function listSharedMessages(deps: ShareDeps, call: Call, id: string, query: ListQuery) {
  const bounds = pageBounds(query, 'response');
  const { chatId, messageId } = await findShared(deps, call, id);
  const branch = await selectBranch(deps, chatId, messageId);
  const later = branch.filter((each) => bounds.after === null || each > bounds.after);
  const ids = later.slice(0, bounds.limit + 1);
  const messages = await selectBranchMessages(deps.db.sql, chatId, ids);
  const rows = new Map((await selectOwnedResponses(deps.db.sql, chatId, ids)).map((row) => [row.id, row]));
  const stored = messages.flatMap((message) => {
    const row = rows.get(message.id);
    return row === undefined ? [] : [{ message, row }];
  });
  const views = await viewExchanges(deps.db.sql, call.caller.organizationId, stored);
  const data = views.map((view, index): SharedChatMessage => {
    return { id: stored[index]?.message.id ?? '', object: 'chat.shared_message', ...view };
  });
  return page(data, bounds.limit);
}

/** Returns the message ids of a branch, oldest first. */
async function selectBranch({ db }: Pick<Deps, 'db'>, chatId: string, lastId: string): Promise<string[]> {
  const parents = new Map((await selectMessageTree(db.sql, chatId)).map(({ id, parentId }) => [id, parentId]));
  const branch: string[] = [];
  for (let id: string | null = lastId; id !== null && parents.has(id); id = parents.get(id) ?? null) branch.unshift(id);
  return branch;
}

async function findShared({ db }: Pick<Deps, 'db'>, { caller }: Call, id: string) {
  const row = SHARE_ID.test(id) ? await selectSharedChat(db.sql, caller.organizationId, id) : null;
  if (row === null) throw notFound('shared_chat', id, 'share_id');
  return row;
}

const viewShare = ({ id, chatId, messageId, createdAt }: ChatShareRow): ChatShare => ({
  id,
  object: 'chat.share',
  chat_id: chatId,
  message_id: messageId,
  created_at: toUnixSeconds(createdAt),
});
