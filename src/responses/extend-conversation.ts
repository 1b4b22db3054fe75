import type { Sql } from '../db/db.ts';
import { type ConversationItem, toConversation } from './conversation.ts';
import { insertConversationItems, touchConversation } from './conversation-store.ts';
import type { ResponseResource } from './schema.ts';

/**
 * Adds the input and the output of a response to its conversation, in the transaction that stores the end of the
 * response. A response that has failed or was cancelled adds nothing; a conversation that was deleted stays so.
 */
export async function extendConversation(
  sql: Sql,
  organizationId: string,
  response: ResponseResource,
  input: readonly ConversationItem[],
): Promise<void> {
  const { conversation, status, output, completed_at: completedAt, created_at: createdAt } = response;
  if (conversation == null || status === 'failed' || status === 'cancelled') return;
  const usedAt = new Date((completedAt ?? createdAt) * 1000);
  if (!(await touchConversation(sql, organizationId, conversation.id, { usedAt }))) return;
  await insertConversationItems(sql, conversation.id, [...input, ...toConversation(output)]);
}
