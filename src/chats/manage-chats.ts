import { summarizePresets } from '../chat-presets/apply-preset.ts';
import { findChoosablePreset } from '../chat-presets/manage-presets.ts';
import { selectDefaultPreset } from '../chat-presets/store.ts';
import { findRow } from '../db/find-row.ts';
import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import { deleteOrphanedBlob } from '../files/orphaned-blobs.ts';
import { deletePrivateFiles } from '../files/store.ts';
import { removeKnowledgeBase } from '../knowledge-bases/delete-knowledge-base.ts';
import { dropIndexTable } from '../knowledge-bases/drop-index-tables.ts';
import { lockPrivateBase } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { deleteChatResponses } from '../responses/find-response.ts';
import { selectAttachedFiles } from './attachment-store.ts';
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

/** Dependencies of the management of chats. */
export type ChatHistoryDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'logger' | 'now'>;

/** Creates a chat of the caller. Throws 400 naming an invalid field. */
export async function createChat(deps: Pick<Deps, 'db' | 'now'>, call: Call, body: CreateChat): Promise<ChatResource> {
  const { caller } = call;
  const now = new Date(deps.now());
  const row: ChatRow = {
    id: newId('chat'),
    organizationId: caller.organizationId,
    ownerId: caller.keyId,
    title: storable(body.title ?? '', 'title'),
    isTitleFinal: body.title != null,
    isPinned: false,
    folder: body.folder == null ? null : storable(body.folder, 'folder'),
    currentMessageId: null,
    model: null,
    knowledgeBaseIds: [],
    attachmentBaseId: null,
    presetId: await initialPreset(deps, call, body.preset_id),
    createdAt: now,
    updatedAt: now,
  };
  await insertChat(deps.db.sql, row);
  return viewWithCount(deps, row);
}

async function initialPreset(
  deps: Pick<Deps, 'db'>,
  call: Call,
  id: string | null | undefined,
): Promise<string | null> {
  if (id === null) return null;
  if (id === undefined) return (await selectDefaultPreset(deps.db.sql, call.caller.organizationId))?.id ?? null;
  return (await findChoosablePreset(deps, call, id, 'preset_id')).id;
}

/** Lists the chats of the caller. */
export async function listChats(deps: Pick<Deps, 'db' | 'now'>, { caller }: Call, query: ChatListQuery) {
  const bounds = pageBounds(query, 'chat');
  const filters = {
    search: query.search === undefined ? undefined : storable(query.search, 'search'),
    folder: query.folder === undefined ? undefined : storable(query.folder, 'folder'),
  };
  const rows = await selectChats(deps.db.sql, caller, bounds, filters);
  return page(await viewChats(deps, rows), bounds.limit);
}

/** Returns the caller's row. Throws 404 `chat_not_found`, also for the chat of another person. */
export async function findChat({ db }: Pick<Deps, 'db'>, { caller }: Call, id: string): Promise<ChatRow> {
  return findRow('chat', id, 'chat_id', () => selectChat(db.sql, caller, id));
}

/** Returns a chat. Throws as `findChat` does. */
export async function getChat(deps: Pick<Deps, 'db' | 'now'>, call: Call, id: string): Promise<ChatResource> {
  return viewWithCount(deps, await findChat(deps, call, id));
}

/** Changes a chat. Throws as `findChat` does, and 400 for a message that is not one of the chat. */
export async function updateChat(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  id: string,
  body: UpdateChat,
): Promise<ChatResource> {
  await findChat(deps, call, id);
  const { title, pinned, folder, current_message_id: current } = body;
  if (current !== undefined && (await selectChatMessage(deps.db.sql, id, current)) === null)
    throw notFound('chat_message', current, 'current_message_id');
  const changes = {
    ...(title !== undefined && { title: storable(title, 'title'), isTitleFinal: true }),
    ...(pinned !== undefined && { isPinned: pinned }),
    ...(folder !== undefined && { folder: folder === null ? null : storable(folder, 'folder') }),
    ...(current !== undefined && { currentMessageId: current }),
  };
  const row = await updateChatRow(deps.db.sql, call.caller, id, changes);
  if (row === null) throw notFound('chat', id, 'chat_id');
  return viewWithCount(deps, row);
}

/** Stops running answers and deletes a chat with its messages and attachments. Throws the errors of `findChat`. */
export async function deleteChat(deps: ChatHistoryDeps, call: Call, id: string) {
  await findChat(deps, call, id);
  if (!(await removeChat(deps, call.caller, id))) throw notFound('chat', id, 'chat_id');
  return { id, object: 'chat' as const, deleted: true as const };
}

/** Deletes a chat as `deleteChat` does if it still `mayGo` when it is locked. Returns whether it was deleted. */
export async function removeChat(
  deps: ChatHistoryDeps,
  owner: ChatOwner,
  id: string,
  mayGo: (chat: ChatRow) => boolean = () => true,
): Promise<boolean> {
  const now = deps.now();
  const deleted = await deps.db.sql.transaction(async (sql) => {
    // Concurrent messages and uploads wait for the row lock of the chat, then fail with 404.
    const chat = await lockChat(sql, owner, id);
    if (chat === null || !mayGo(chat)) return null;
    const baseId = chat.attachmentBaseId;
    if (baseId !== null && (await lockPrivateBase(sql, baseId)) !== null) await removeKnowledgeBase(sql, baseId, now);
    const blobs = await deletePrivateFiles(sql, await selectAttachedFiles(sql, id), new Date(now));
    const messages = await selectMessageTree(sql, id);
    await deleteChatResponses(
      sql,
      id,
      messages.map((message) => message.id),
    );
    await deleteChatRow(sql, owner, id);
    return { baseId, blobs };
  });
  if (deleted === null) return false;
  // If the process crashes here, the sweeps of index tables and orphaned blobs finish the deletion.
  if (deleted.baseId !== null) await dropIndexTable(deps, deleted.baseId);
  for (const blob of deleted.blobs) await deleteOrphanedBlob(deps, blob);
  return true;
}

/** Throws 400 for a text that PostgreSQL cannot store. */
export function storable(text: string, param: string): string {
  if (text.includes('\u0000')) throw invalidValue(param, 'must not contain NUL characters');
  return text;
}

/** A chat with the number of its messages. */
export async function viewWithCount({ db }: Pick<Deps, 'db'>, row: ChatRow): Promise<ChatResource> {
  const [view] = await viewChats({ db }, [row]);
  if (view === undefined) throw new Error('unreachable: one view of each row');
  return view;
}

async function viewChats({ db }: Pick<Deps, 'db'>, rows: readonly ChatRow[]): Promise<ChatResource[]> {
  const counts = await countMessages(
    db.sql,
    rows.map(({ id }) => id),
  );
  const presetIds = new Set(rows.flatMap(({ presetId }) => presetId ?? []));
  const presets = await summarizePresets({ db }, rows[0]?.organizationId ?? '', [...presetIds]);
  return rows.map((row) => ({
    id: row.id,
    object: 'chat',
    title: row.title,
    pinned: row.isPinned,
    folder: row.folder,
    current_message_id: row.currentMessageId,
    model: row.model,
    knowledge_base_ids: row.knowledgeBaseIds,
    preset: presets.get(row.presetId ?? '') ?? null,
    message_count: counts.get(row.id) ?? 0,
    created_at: toUnixSeconds(row.createdAt),
    updated_at: toUnixSeconds(row.updatedAt),
  }));
}
