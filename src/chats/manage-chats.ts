import { findRow } from '../db/find-row.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { deleteChatResponses } from '../responses/find-response.ts';
import type { ChatListQuery, ChatResource, CreateChat, UpdateChat } from './schema.ts';
import {
  type ChatOwner,
  type ChatRow,
  countMessages,
  deleteChatRow,
  insertChat,
  lockChat,
  selectChat,
  selectChatMessage,
  selectChats,
  selectMessageTree,
  updateChatRow,
} from './store.ts';

type ChatDeps = Pick<Deps, 'db' | 'now'>;

/** Creates a chat of the caller. Throws 400 naming an invalid field. */
export async function createChat(deps: ChatDeps, { caller }: Call, body: CreateChat): Promise<ChatResource> {
  const now = new Date(deps.now());
  const row: ChatRow = {
    id: newId('chat'),
    organizationId: caller.organizationId,
    ownerId: caller.keyId,
    title: storable(body.title ?? '', 'title'),
    isPinned: false,
    folder: body.folder == null ? null : storable(body.folder, 'folder'),
    currentMessageId: null,
    model: null,
    knowledgeBaseIds: [],
    createdAt: now,
    updatedAt: now,
  };
  await insertChat(deps.db.sql, row);
  return viewChat(row, 0);
}

/** Lists the chats of the caller. */
export async function listChats(deps: ChatDeps, { caller }: Call, query: ChatListQuery) {
  const bounds = pageBounds(query, 'chat');
  const search = query.search === undefined ? undefined : storable(query.search, 'search');
  const rows = await selectChats(deps.db.sql, caller, bounds, search);
  const counts = await countMessages(
    deps.db.sql,
    rows.map(({ id }) => id),
  );
  return page(
    rows.map((row) => viewChat(row, counts.get(row.id) ?? 0)),
    bounds.limit,
  );
}

/** Returns the caller's row. Throws 404 `chat_not_found`, also for the chat of another person. */
export async function findChat({ db }: Pick<Deps, 'db'>, { caller }: Call, id: string): Promise<ChatRow> {
  return findRow('chat', id, 'chat_id', () => selectChat(db.sql, caller, id));
}

/** Returns a chat. Throws as `findChat` does. */
export async function getChat(deps: ChatDeps, call: Call, id: string): Promise<ChatResource> {
  return viewWithCount(deps, await findChat(deps, call, id));
}

/** Changes a chat. Throws as `findChat` does, and 400 for a message that is not one of the chat. */
export async function updateChat(deps: ChatDeps, call: Call, id: string, body: UpdateChat): Promise<ChatResource> {
  await findChat(deps, call, id);
  const { title, pinned, folder, current_message_id: current } = body;
  if (current !== undefined && (await selectChatMessage(deps.db.sql, id, current)) === null)
    throw notFound('chat_message', current, 'current_message_id');
  const changes = {
    ...(title !== undefined && { title: storable(title, 'title') }),
    ...(pinned !== undefined && { isPinned: pinned }),
    ...(folder !== undefined && { folder: folder === null ? null : storable(folder, 'folder') }),
    ...(current !== undefined && { currentMessageId: current }),
  };
  const row = await updateChatRow(deps.db.sql, call.caller, id, changes);
  if (row === null) throw notFound('chat', id, 'chat_id');
  return viewWithCount(deps, row);
}

/** Deletes a chat with its messages and answers; stops those that are running. Throws as `findChat` does. */
export async function deleteChat(deps: ChatDeps, call: Call, id: string) {
  await findChat(deps, call, id);
  if (!(await removeChat(deps, call.caller, id))) throw notFound('chat', id, 'chat_id');
  return { id, object: 'chat' as const, deleted: true as const };
}

/** Deletes a chat as `deleteChat` does. Returns whether the owner has it. */
export async function removeChat({ db }: Pick<Deps, 'db'>, owner: ChatOwner, id: string): Promise<boolean> {
  return db.sql.transaction(async (sql) => {
    // A message that is being sent waits for the row of the chat, and then finds none.
    if (!(await lockChat(sql, owner, id))) return false;
    const messages = await selectMessageTree(sql, id);
    await deleteChatResponses(
      sql,
      id,
      messages.map((message) => message.id),
    );
    await deleteChatRow(sql, owner, id);
    return true;
  });
}

/** Throws 400 for a text that PostgreSQL cannot store. */
export function storable(text: string, param: string): string {
  if (text.includes('\u0000')) throw invalidValue(param, 'must not contain NUL characters');
  return text;
}

/** A chat with the number of its messages. */
export async function viewWithCount({ db }: Pick<Deps, 'db'>, row: ChatRow): Promise<ChatResource> {
  return viewChat(row, (await countMessages(db.sql, [row.id])).get(row.id) ?? 0);
}

function viewChat(row: ChatRow, messageCount: number): ChatResource {
  return {
    id: row.id,
    object: 'chat',
    title: row.title,
    pinned: row.isPinned,
    folder: row.folder,
    current_message_id: row.currentMessageId,
    model: row.model,
    knowledge_base_ids: row.knowledgeBaseIds,
    message_count: messageCount,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  };
}
