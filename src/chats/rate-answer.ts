import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { insufficientScope, invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { ChatFeedback, FeedbackListQuery, MessageFeedback, PutFeedback } from './feedback-schema.ts';
import { deleteFeedbackRow, selectRatedMessages, upsertFeedback } from './feedback-store.ts';
import { storable } from './manage-chats.ts';
import { getMessage, type MessagePath } from './read-messages.ts';
import { viewExchanges } from './view-exchange.ts';

type FeedbackDeps = Pick<Deps, 'db' | 'now'>;

/**
 * Rates an answer, or replaces its rating. Owners of the organization can then read the message and its answer. Throws
 * the errors of `getMessage`, and 400 if the answer is not complete.
 */
export async function rateAnswer(
  deps: FeedbackDeps,
  call: Call,
  path: MessagePath,
  body: PutFeedback,
): Promise<MessageFeedback> {
  const { id, duration_ms: duration } = await getMessage(deps, call, path);
  if (duration === null) throw invalidValue('message_id', 'names a message whose answer is not complete');
  const text = storable(body.comment ?? '', 'comment').trim();
  const rating = { rating: body.rating, comment: text === '' ? null : text };
  const { organizationId } = call.caller;
  await upsertFeedback(deps.db.sql, { messageId: id, organizationId, ...rating, createdAt: new Date(deps.now()) });
  return rating;
}

/** Deletes a rating. Throws the errors of `getMessage`, and 404 `chat_feedback_not_found` if there is no rating. */
export async function deleteFeedback(deps: FeedbackDeps, call: Call, path: MessagePath) {
  const { id } = await getMessage(deps, call, path);
  if (!(await deleteFeedbackRow(deps.db.sql, id))) throw notFound('chat_feedback', id, 'message_id');
  return { id, object: 'chat.feedback' as const, deleted: true as const };
}

/** Lists the ratings of the organization. Throws 403 unless the caller is an owner. */
export async function listFeedback(deps: FeedbackDeps, { caller }: Call, query: FeedbackListQuery) {
  if (caller.role !== 'owner' && !caller.scopes.has('admin'))
    throw insufficientScope('Only owners of the organization read its feedback.');
  const bounds = pageBounds(query, 'response');
  const rows = await selectRatedMessages(deps.db.sql, caller.organizationId, bounds, query.rating);
  const exchanges = await viewExchanges(deps.db.sql, caller.organizationId, rows);
  const data = rows.flatMap(({ feedback, ownerId: id, ownerName: name }, index): ChatFeedback[] => {
    const exchange = exchanges[index];
    if (exchange === undefined) return [];
    const { messageId, rating, comment, createdAt } = feedback;
    const rated = { rating, comment, rated_at: toUnixSeconds(createdAt), owner: { id, name } };
    return [{ id: messageId, object: 'chat.feedback', ...rated, ...exchange }];
  });
  return page(data, bounds.limit);
}
