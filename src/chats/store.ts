import {
  and,
  asc,
  count,
  desc,
  eq,
  exists,
  sql as expression,
  inArray,
  isNotNull,
  isNull,
  like,
  not,
  type SQL,
} from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import type { Caller } from '../lib/caller.ts';
import { ID_PREFIXES, isId } from '../lib/ids.ts';
import { responses } from '../responses/tables.ts';
import { members } from '../users/tables.ts';
import { chatMessages, chatSettings, chats } from './tables.ts';

/** A row of `chats`. */
export type ChatRow = typeof chats.$inferSelect;

/** A row of `chat_messages`. */
export type ChatMessageRow = typeof chatMessages.$inferSelect;

/** Who may see a chat: its owner in its organization, and nobody else. */
export type ChatOwner = Pick<Caller, 'organizationId' | 'keyId'>;

const isOwned = ({ organizationId, keyId }: ChatOwner) =>
  and(eq(chats.organizationId, organizationId), eq(chats.ownerId, keyId));
const isChat = (owner: ChatOwner, id: string) => and(eq(chats.id, id), isOwned(owner));

/** Inserts a chat. */
export async function insertChat(sql: Sql, row: ChatRow): Promise<void> {
  await sql.insert(chats).values(row);
}

/** The owner's chat, or null. */
export async function selectChat(sql: Sql, owner: ChatOwner, id: string): Promise<ChatRow | null> {
  const [row] = await sql.select().from(chats).where(isChat(owner, id));
  return row ?? null;
}

/** Filters of a list of chats. Undefined filters match all chats. */
export interface ChatFilters {
  search: string | undefined;
  /** An empty name matches chats without a folder. */
  folder: string | undefined;
}

/** A page of the owner's chats: pinned ones first, then those with the newest message. */
export async function selectChats(
  sql: Sql,
  owner: ChatOwner,
  { limit, after }: PageBounds,
  { search, folder }: ChatFilters,
): Promise<ChatRow[]> {
  const place = expression`${chats.isPinned}, ${chats.updatedAt}, ${chats.id}`;
  const cursor = sql
    .select({ place })
    .from(chats)
    .where(isChat(owner, after ?? ''));
  const isLater = after === null ? undefined : expression`(${place}) < (${cursor})`;
  return sql
    .select()
    .from(chats)
    .where(and(isOwned(owner), isLater, containsText(search), isInFolder(folder)))
    .orderBy(desc(chats.isPinned), desc(chats.updatedAt), desc(chats.id))
    .limit(limit + 1);
}

const isInFolder = (folder: string | undefined): SQL | undefined =>
  folder === undefined ? undefined : folder === '' ? isNull(chats.folder) : eq(chats.folder, folder);

/** Selects the folders of the owner with the number of their chats, by name. */
export async function selectFolders(sql: Sql, owner: ChatOwner): Promise<{ name: string; chatCount: number }[]> {
  const rows = await sql
    .select({ name: chats.folder, chatCount: count() })
    .from(chats)
    .where(and(isOwned(owner), isNotNull(chats.folder)))
    .groupBy(chats.folder)
    .orderBy(expression`lower(${chats.folder})`, asc(chats.folder));
  return rows.map(({ name, chatCount }) => ({ name: name ?? '', chatCount }));
}

/** Moves the owner's chats to another folder, or out of the folder. Returns the number of chats. */
export async function moveFolder(sql: Sql, owner: ChatOwner, from: string, to: string | null): Promise<number> {
  const moved = await sql
    .update(chats)
    .set({ folder: to })
    .where(and(isOwned(owner), eq(chats.folder, from)))
    .returning({ id: chats.id });
  return moved.length;
}

/** Condition that a chat has a text in its title, a message or an answer, in upper or lower case. */
function containsText(search: string | undefined): SQL | undefined {
  if (search === undefined) return undefined;
  const has = (text: SQL) => expression`strpos(lower(${text}), lower(${search})) > 0`;
  return expression`(${has(expression`${chats.title}`)} or exists (
    select from ${chatMessages} join ${responses} on ${responses.id} = ${chatMessages.id}
    where ${chatMessages.chatId} = ${chats.id}
      and (${has(expression`${chatMessages.text}`)} or ${has(expression`${responses.answerText}`)})))`;
}

/** Value of `title` that keeps a title that the chat has by the time of the update. */
export const firstTitle = (title: string): SQL =>
  expression`case when ${chats.title} = '' then ${title} else ${chats.title} end`;

/** Changes the owner's chat. Returns it, or null when there is none. */
export async function updateChatRow(
  sql: Sql,
  owner: ChatOwner,
  id: string,
  changes: Partial<Omit<ChatRow, 'title'> & { title: string | SQL }>,
): Promise<ChatRow | null> {
  if (Object.keys(changes).length === 0) return selectChat(sql, owner, id);
  const [row] = await sql.update(chats).set(changes).where(isChat(owner, id)).returning();
  return row ?? null;
}

/** Sets a generated title, unless the title is final. */
export async function updateTitle(sql: Sql, id: string, title: string): Promise<void> {
  await sql
    .update(chats)
    .set({ title, isTitleFinal: true })
    .where(and(eq(chats.id, id), eq(chats.isTitleFinal, false)));
}

/** Selects the owner's chat and locks it until the transaction ends. Returns null if it does not exist. */
export async function lockChat(sql: Sql, owner: ChatOwner, id: string): Promise<ChatRow | null> {
  const [row] = await sql.select().from(chats).where(isChat(owner, id)).for('update');
  return row ?? null;
}

/** Deletes the owner's chat with its messages. */
export async function deleteChatRow(sql: Sql, owner: ChatOwner, id: string): Promise<void> {
  await sql.delete(chats).where(isChat(owner, id));
}

/** A chat to purge, if no message was sent since it was selected. */
export type OutdatedChat = Pick<ChatRow, 'id' | 'organizationId' | 'ownerId' | 'updatedAt'>;

const OUTDATED = {
  id: chats.id,
  organizationId: chats.organizationId,
  ownerId: chats.ownerId,
  updatedAt: chats.updatedAt,
};

/** Chats of users that are not members of the organization of the chat any more. */
export async function selectLeftChats(sql: Sql, limit: number): Promise<OutdatedChat[]> {
  return sql.select(OUTDATED).from(chats).where(hasOwnerLeft(sql)).limit(limit);
}

/** SQL condition: the owner is a user who has left the organization. */
export function hasOwnerLeft(sql: Sql): SQL | undefined {
  const isMember = sql
    .select({ id: members.userId })
    .from(members)
    .where(and(eq(members.organizationId, chats.organizationId), eq(members.userId, chats.ownerId)));
  return and(like(chats.ownerId, `${ID_PREFIXES.user}%`), not(exists(isMember)));
}

/** Chats whose last message is older than the retention of their organization. */
export async function selectExpiredChats(sql: Sql, now: Date, limit: number): Promise<OutdatedChat[]> {
  const age = expression`${chatSettings.retentionDays} * interval '1 day'`;
  return sql
    .select(OUTDATED)
    .from(chatSettings)
    .innerJoin(chats, eq(chats.organizationId, chatSettings.organizationId))
    .where(expression`${chats.updatedAt} < ${now.toISOString()}::timestamptz - ${age}`)
    .limit(limit);
}

/** Chat settings of an organization. */
export type ChatSettingsRow = Omit<typeof chatSettings.$inferSelect, 'organizationId'>;

/** Selects the chat settings of an organization, or the defaults. */
export async function selectChatSettings(sql: Sql, organizationId: string): Promise<ChatSettingsRow> {
  const [row] = await sql.select().from(chatSettings).where(eq(chatSettings.organizationId, organizationId));
  return row ?? { retentionDays: null, hasModelTitles: true };
}

/** Inserts or updates the chat settings of an organization. */
export async function upsertChatSettings(sql: Sql, organizationId: string, settings: ChatSettingsRow): Promise<void> {
  await sql
    .insert(chatSettings)
    .values({ ...settings, organizationId })
    .onConflictDoUpdate({ target: chatSettings.organizationId, set: settings });
}

/** Deletes all chats of an organization with their messages, and their settings. */
export async function deleteChatsOfOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(chatSettings).where(eq(chatSettings.organizationId, organizationId));
  await sql.delete(chats).where(eq(chats.organizationId, organizationId));
}

/** Number of messages by the id of the chat. */
export async function countMessages(sql: Sql, chatIds: readonly string[]): Promise<Map<string, number>> {
  if (chatIds.length === 0) return new Map();
  const rows = await sql
    .select({ chatId: chatMessages.chatId, total: count() })
    .from(chatMessages)
    .where(inArray(chatMessages.chatId, [...chatIds]))
    .groupBy(chatMessages.chatId);
  return new Map(rows.map(({ chatId, total }) => [chatId, total]));
}

/** Inserts a message. */
export async function insertChatMessage(sql: Sql, row: Omit<ChatMessageRow, 'createdAt'>): Promise<void> {
  await sql.insert(chatMessages).values(row);
}

/** A message of a chat, or null. */
export async function selectChatMessage(sql: Sql, chatId: string, id: string): Promise<ChatMessageRow | null> {
  if (!isId('response', id)) return null;
  const [row] = await sql
    .select()
    .from(chatMessages)
    .where(and(eq(chatMessages.chatId, chatId), eq(chatMessages.id, id)));
  return row ?? null;
}

/** A page of the messages of a chat, in the order in which they were sent. */
export async function selectChatMessages(sql: Sql, chatId: string, bounds: PageBounds): Promise<ChatMessageRow[]> {
  const { isAfter, orderBy } = pageOrder(chatMessages.id, bounds);
  return sql
    .select()
    .from(chatMessages)
    .where(and(eq(chatMessages.chatId, chatId), isAfter))
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** The messages of a chat with these ids, in the order in which they were sent. */
export async function selectBranchMessages(
  sql: Sql,
  chatId: string,
  ids: readonly string[],
): Promise<ChatMessageRow[]> {
  return sql
    .select()
    .from(chatMessages)
    .where(and(eq(chatMessages.chatId, chatId), inArray(chatMessages.id, [...ids])))
    .orderBy(asc(chatMessages.id));
}

/** Selects ids, parents and contents of all messages of a chat. */
export async function selectMessageTree(
  sql: Sql,
  chatId: string,
): Promise<Pick<ChatMessageRow, 'id' | 'parentId' | 'text' | 'attachments'>[]> {
  const { id, parentId, text, attachments } = chatMessages;
  return sql
    .select({ id, parentId, text, attachments })
    .from(chatMessages)
    .where(eq(chatMessages.chatId, chatId))
    .orderBy(asc(chatMessages.id));
}
