import { and, eq, inArray } from 'drizzle-orm';
import type { Sql } from '../db/db.ts';
import { type PageBounds, pageOrder } from '../db/page.ts';
import { responses } from '../responses/tables.ts';
import { users } from '../users/tables.ts';
import type { FeedbackListQuery } from './feedback-schema.ts';
import { chatFeedback, chatMessages, chats } from './tables.ts';

/** A row of `chat_feedback`. */
export type FeedbackRow = typeof chatFeedback.$inferSelect;

/** Inserts or replaces the rating of a message. */
export async function upsertFeedback(sql: Sql, row: FeedbackRow): Promise<void> {
  const { rating, comment, createdAt } = row;
  await sql
    .insert(chatFeedback)
    .values(row)
    .onConflictDoUpdate({ target: chatFeedback.messageId, set: { rating, comment, createdAt } });
}

/** Deletes the rating of a message. Returns whether there was one. */
export async function deleteFeedbackRow(sql: Sql, messageId: string): Promise<boolean> {
  const deleted = await sql
    .delete(chatFeedback)
    .where(eq(chatFeedback.messageId, messageId))
    .returning({ id: chatFeedback.messageId });
  return deleted.length > 0;
}

/** Selects ratings by message id. */
export async function selectFeedback(sql: Sql, messageIds: readonly string[]): Promise<Map<string, FeedbackRow>> {
  if (messageIds.length === 0) return new Map();
  const rows = await sql
    .select()
    .from(chatFeedback)
    .where(inArray(chatFeedback.messageId, [...messageIds]));
  return new Map(rows.map((row) => [row.messageId, row]));
}

/** Selects a page of the ratings of an organization with their messages, newest message first. */
export async function selectRatedMessages(
  sql: Sql,
  organizationId: string,
  bounds: PageBounds,
  rating: FeedbackListQuery['rating'],
) {
  const { isAfter, orderBy } = pageOrder(chatFeedback.messageId, bounds, 'desc');
  return sql
    .select({
      feedback: chatFeedback,
      message: { text: chatMessages.text, createdAt: chatMessages.createdAt },
      row: { response: responses.response },
      ownerId: chats.ownerId,
      ownerName: users.name,
    })
    .from(chatFeedback)
    .innerJoin(chatMessages, eq(chatMessages.id, chatFeedback.messageId))
    .innerJoin(chats, eq(chats.id, chatMessages.chatId))
    .innerJoin(responses, eq(responses.id, chatFeedback.messageId))
    .leftJoin(users, eq(users.id, chats.ownerId))
    .where(
      and(
        eq(chatFeedback.organizationId, organizationId),
        rating === undefined ? undefined : eq(chatFeedback.rating, rating),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}
