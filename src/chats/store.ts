import { and, asc, count, desc, eq, sql as expression, inArray, like, notExists, type SQL } from 'drizzle-orm';
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

/** A page of the owner's chats: pinned ones first, then those with the newest message. */
export async function selectChats(
  sql: Sql,
  owner: ChatOwner,
  { limit, after }: PageBounds,
  search: string | undefined,
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
    .where(and(isOwned(owner), isLater, containsText(search)))
    .orderBy(desc(chats.isPinned), desc(chats.updatedAt), desc(chats.id))
    .limit(limit + 1);
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

/** Changes the owner's chat. Returns it, or null when there is none. */
export async function updateChatRow(
  sql: Sql,
  owner: ChatOwner,
  id: string,
  changes: Partial<ChatRow>,
): Promise<ChatRow | null> {
  if (Object.keys(changes).length === 0) return selectChat(sql, owner, id);
  const [row] = await sql.update(chats).set(changes).where(isChat(owner, id)).returning();
  return row ?? null;
}

/** Locks the owner's chat until the end of the transaction. Returns whether there is one. */
export async function lockChat(sql: Sql, owner: ChatOwner, id: string): Promise<boolean> {
  const rows = await sql.select({ id: chats.id }).from(chats).where(isChat(owner, id)).for('update');
  return rows.length > 0;
}

/** Deletes the owner's chat with its messages. */
export async function deleteChatRow(sql: Sql, owner: ChatOwner, id: string): Promise<void> {
  await sql.delete(chats).where(isChat(owner, id));
}

/** Chats of users that are not members of the organization of the chat any more. */
export async function selectLeftChats(
  sql: Sql,
  limit: number,
): Promise<Pick<ChatRow, 'id' | 'organizationId' | 'ownerId'>[]> {
  const isMember = sql
    .select({ id: members.userId })
    .from(members)
    .where(and(eq(members.organizationId, chats.organizationId), eq(members.userId, chats.ownerId)));
  return sql
    .select({ id: chats.id, organizationId: chats.organizationId, ownerId: chats.ownerId })
    .from(chats)
    .where(and(like(chats.ownerId, `${ID_PREFIXES.user}%`), notExists(isMember)))
    .limit(limit);
}

/** Chats whose last message is older than the retention of their organization. */
export async function selectExpiredChats(
  sql: Sql,
  now: Date,
  limit: number,
): Promise<Pick<ChatRow, 'id' | 'organizationId' | 'ownerId'>[]> {
  const age = expression`${chatSettings.retentionDays} * interval '1 day'`;
  return sql
    .select({ id: chats.id, organizationId: chats.organizationId, ownerId: chats.ownerId })
    .from(chatSettings)
    .innerJoin(chats, eq(chats.organizationId, chatSettings.organizationId))
    .where(expression`${chats.updatedAt} < ${now.toISOString()}::timestamptz - ${age}`)
    .limit(limit);
}

/** Days for which an organization keeps chats; null: without an end. */
export async function selectRetentionDays(sql: Sql, organizationId: string): Promise<number | null> {
  const [row] = await sql.select().from(chatSettings).where(eq(chatSettings.organizationId, organizationId));
  return row?.retentionDays ?? null;
}

/** Sets the days for which an organization keeps chats. */
export async function upsertRetentionDays(
  sql: Sql,
  organizationId: string,
  retentionDays: number | null,
): Promise<void> {
  await sql
    .insert(chatSettings)
    .values({ organizationId, retentionDays })
    .onConflictDoUpdate({ target: chatSettings.organizationId, set: { retentionDays } });
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

/** Ids and parents of all messages of a chat, with their texts. */
export async function selectMessageTree(
  sql: Sql,
  chatId: string,
): Promise<Pick<ChatMessageRow, 'id' | 'parentId' | 'text'>[]> {
  return sql
    .select({ id: chatMessages.id, parentId: chatMessages.parentId, text: chatMessages.text })
    .from(chatMessages)
    .where(eq(chatMessages.chatId, chatId))
    .orderBy(asc(chatMessages.id));
}
