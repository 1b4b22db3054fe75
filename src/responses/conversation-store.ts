import { and, asc, eq, gt, lte, max } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { onlyCreated } from '../db/only-created.ts';
import type { ConversationItem } from './conversation.ts';
import { expiryBound } from './store.ts';
import { conversationItems, conversations } from './tables.ts';

/** A row of `conversations`. */
export type ConversationRow = typeof conversations.$inferSelect;

/** Items of one INSERT, which has four parameters for each. */
const ROWS_PER_INSERT = 1_000;

/** Inserts a conversation without items. */
export async function insertConversation(sql: Sql, row: ConversationRow): Promise<void> {
  await sql.insert(conversations).values(row);
}

/** The organization's conversation, or null when it is unknown or has expired. */
export async function selectConversation(
  sql: Sql,
  organizationId: string,
  id: string,
  now: Date,
): Promise<ConversationRow | null> {
  const [row] = await sql
    .select()
    .from(conversations)
    .where(and(isOwned(organizationId, id), gt(conversations.usedAt, expiryBound(now))));
  return row ?? null;
}

/** Marks the organization's conversation as used, and locks it until the end of the transaction. False: it is gone. */
export async function touchConversation(
  sql: Sql,
  organizationId: string,
  id: string,
  changes: Pick<ConversationRow, 'usedAt'> & Partial<Pick<ConversationRow, 'metadata'>>,
): Promise<boolean> {
  const rows = await sql
    .update(conversations)
    .set(changes)
    .where(isOwned(organizationId, id))
    .returning({ id: conversations.id });
  return rows.length > 0;
}

/** Deletes the organization's conversation with its items. Returns whether there was one. */
export async function deleteConversationRow(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const rows = await sql.delete(conversations).where(isOwned(organizationId, id)).returning({ id: conversations.id });
  return rows.length > 0;
}

/** Deletes all conversations of an organization with their items. */
export async function deleteConversationRows(sql: Sql, organizationId: string): Promise<void> {
  await sql.delete(conversations).where(eq(conversations.organizationId, organizationId));
}

/** Deletes all expired conversations with their items. */
export async function deleteExpiredConversations(sql: Sql, now: Date): Promise<void> {
  await sql.delete(conversations).where(lte(conversations.usedAt, expiryBound(now)));
}

/** The items of a conversation, in order. */
export async function selectConversationItems(sql: Sql, id: string): Promise<ConversationItem[]> {
  const rows = await sql
    .select({ item: conversationItems.item })
    .from(conversationItems)
    .where(eq(conversationItems.conversationId, id))
    .orderBy(asc(conversationItems.position));
  return rows.map(({ item }) => JSON.parse(item) as ConversationItem);
}

/** Appends items to a conversation that the transaction has locked. Items that it has already are left out. */
export async function insertConversationItems(
  sql: Sql,
  conversationId: string,
  items: readonly ConversationItem[],
): Promise<void> {
  const [last] = await sql
    .select({ position: max(conversationItems.position) })
    .from(conversationItems)
    .where(eq(conversationItems.conversationId, conversationId));
  const first = (last?.position ?? -1) + 1;
  const rows = items.map((item, index) => {
    const position = first + index;
    return { conversationId, position, itemId: item.id ?? `item_${position}`, item: JSON.stringify(item) };
  });
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    const values = rows.slice(start, start + ROWS_PER_INSERT);
    await sql.insert(conversationItems).values(values).onConflictDoNothing();
  }
}

/** Deletes an item of a conversation. */
export async function deleteConversationItem(sql: Sql, conversationId: string, itemId: string): Promise<void> {
  await sql
    .delete(conversationItems)
    .where(and(eq(conversationItems.conversationId, conversationId), eq(conversationItems.itemId, itemId)));
}

function isOwned(organizationId: string, id: string) {
  return and(
    eq(conversations.id, id),
    eq(conversations.organizationId, organizationId),
    onlyCreated(conversations.createdBy),
  );
}
