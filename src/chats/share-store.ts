import { and, eq, not } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { users } from '../users/tables.ts';
import { hasOwnerLeft } from './store.ts';
import { chatShares, chats } from './tables.ts';

/** A row of `chat_shares`. */
export type ChatShareRow = typeof chatShares.$inferSelect;

/** Selects the link of a chat, or null. */
export async function selectShare(sql: Sql, chatId: string): Promise<ChatShareRow | null> {
  const [row] = await sql.select().from(chatShares).where(eq(chatShares.chatId, chatId));
  return row ?? null;
}

/** Inserts the link of a chat, or updates the existing link. Returns the row. */
export async function upsertShare(sql: Sql, row: ChatShareRow): Promise<ChatShareRow> {
  const { title, messageId, createdAt } = row;
  const [stored = row] = await sql
    .insert(chatShares)
    .values(row)
    .onConflictDoUpdate({ target: chatShares.chatId, set: { title, messageId, createdAt } })
    .returning();
  return stored;
}

/** Deletes the link of a chat. Returns its id, or null if there is no link. */
export async function deleteShareRow(sql: Sql, chatId: string): Promise<string | null> {
  const [row] = await sql.delete(chatShares).where(eq(chatShares.chatId, chatId)).returning({ id: chatShares.id });
  return row?.id ?? null;
}

/** Selects a link to a chat of the organization with the owner's name. Null if the owner has left the organization. */
export async function selectSharedChat(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<(ChatShareRow & { ownerName: string | null }) | null> {
  const [row] = await sql
    .select({ share: chatShares, ownerName: users.name })
    .from(chatShares)
    .innerJoin(chats, eq(chats.id, chatShares.chatId))
    .leftJoin(users, eq(users.id, chats.ownerId))
    .where(
      and(eq(chatShares.id, id), eq(chats.organizationId, organizationId), not(hasOwnerLeft(sql) ?? eq(chats.id, ''))),
    );
  return row === undefined ? null : { ...row.share, ownerName: row.ownerName };
}
