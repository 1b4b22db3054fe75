import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { type CancelDeps, cancelRunning, followEvents, readResponse } from '../responses/background.ts';
import type { ResponseEvent } from '../responses/event-schema.ts';
import type { ResponseResource } from '../responses/schema.ts';
import { type ResponseRow, selectOwnedResponses } from '../responses/store.ts';
import type { MessageFeedback } from './feedback-schema.ts';
import { selectFeedback } from './feedback-store.ts';
import { findChat } from './manage-chats.ts';
import type { ChatMessageResource } from './schema.ts';
import { type ChatMessageRow, selectChatMessage, selectChatMessages } from './store.ts';

/** Path of a message. */
export interface MessagePath {
  chat_id: string;
  message_id: string;
}

/** Lists the messages of a chat, of all branches, with their answers as they are now. Throws as `findChat` does. */
export async function listMessages({ db }: Pick<Deps, 'db'>, call: Call, chatId: string, query: ListQuery) {
  const chat = await findChat({ db }, call, chatId);
  const bounds = pageBounds(query, 'response');
  const messages = await selectChatMessages(db.sql, chat.id, bounds);
  return page(await viewMessages({ db }, chat.id, messages), bounds.limit);
}

/** Messages of a chat with their answers as they are now. */
export async function viewMessages(
  { db }: Pick<Deps, 'db'>,
  chatId: string,
  messages: readonly ChatMessageRow[],
): Promise<ChatMessageResource[]> {
  const ids = messages.map(({ id }) => id);
  const rows = new Map((await selectOwnedResponses(db.sql, chatId, ids)).map((row) => [row.id, row]));
  const feedback = await selectFeedback(db.sql, ids);
  const views: ChatMessageResource[] = [];
  for (const message of messages) {
    const row = rows.get(message.id);
    // Deleted since the messages were read, with the chat.
    if (row !== undefined) views.push(await viewStored(db.sql, message, row, feedback.get(message.id)));
  }
  return views;
}

/** Returns a message. Throws 404 `chat_not_found` and `chat_message_not_found`, as the functions below do. */
export async function getMessage(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  path: MessagePath,
): Promise<ChatMessageResource> {
  const { message, row } = await findMessage({ db }, call, path);
  return viewStored(db.sql, message, row, (await selectFeedback(db.sql, [message.id])).get(message.id));
}

/** Follows the events of an answer after a sequence number, to its end. */
export async function followMessage(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { path, after }: { path: MessagePath; after: number },
  signal: AbortSignal,
): Promise<AsyncGenerator<ResponseEvent, void, undefined>> {
  const { message } = await findMessage({ db }, call, path);
  return followEvents({ db }, { id: message.id, after }, signal);
}

/** Stops an answer, whose text stays. One that has ended is returned unchanged. */
export async function cancelMessage(deps: CancelDeps, call: Call, path: MessagePath): Promise<ChatMessageResource> {
  const { message } = await findMessage(deps, call, path);
  await cancelRunning(deps, message.id);
  return getMessage(deps, call, path);
}

/** A message as clients see it. */
export function viewMessage(
  { id, chatId, parentId, text, attachments, createdAt }: ChatMessageRow,
  response: ResponseResource,
  endedAt: Date | null,
  feedback: MessageFeedback | undefined,
): ChatMessageResource {
  return {
    id,
    object: 'chat.message',
    chat_id: chatId,
    parent_id: parentId,
    text,
    attachments: attachments.map(({ fileId: _, ...sent }) => sent),
    created_at: toUnixSeconds(createdAt),
    duration_ms: endedAt === null ? null : Math.max(0, endedAt.getTime() - createdAt.getTime()),
    feedback: feedback === undefined ? null : { rating: feedback.rating, comment: feedback.comment },
    response,
  };
}

async function viewStored(
  sql: Deps['db']['sql'],
  message: ChatMessageRow,
  row: ResponseRow,
  feedback: MessageFeedback | undefined,
) {
  return viewMessage(message, await readResponse(sql, row), row.endedAt, feedback);
}

async function findMessage(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { chat_id: chatId, message_id: id }: MessagePath,
): Promise<{ message: ChatMessageRow; row: ResponseRow }> {
  const chat = await findChat({ db }, call, chatId);
  const message = await selectChatMessage(db.sql, chat.id, id);
  const [row] = message === null ? [] : await selectOwnedResponses(db.sql, chat.id, [id]);
  if (message === null || row === undefined) throw notFound('chat_message', id, 'message_id');
  return { message, row };
}
