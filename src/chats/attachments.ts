import { findRow } from '../db/find-row.ts';
import { type ListQuery, page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { deleteOrphanedBlob } from '../files/orphaned-blobs.ts';
import { deletePrivateFiles, type FileRow, selectFile } from '../files/store.ts';
import { removeDataSource } from '../knowledge-bases/data-sources/delete-data-source.ts';
import { lockDataSource } from '../knowledge-bases/data-sources/store.ts';
import { applyTombstones } from '../knowledge-bases/documents/tombstones.ts';
import { lockPrivateBase } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import type { ChatAttachment, ChatAttachmentPath } from './attachment-schema.ts';
import { type AttachmentState, deleteAttachmentRow, selectAttachment, selectAttachments } from './attachment-store.ts';
import { type ChatHistoryDeps, findChat } from './manage-chats.ts';
import { lockChat } from './store.ts';

/** Lists the attachments of a chat with the state of their ingestion. Throws the errors of `findChat`. */
export async function listAttachments({ db }: Pick<Deps, 'db'>, call: Call, chatId: string, query: ListQuery) {
  const chat = await findChat({ db }, call, chatId);
  const bounds = pageBounds(query, 'chatAttachment');
  return page((await selectAttachments(db.sql, chat.id, bounds)).map(viewAttachment), bounds.limit);
}

/** Finds an attachment. Throws 404 `chat_not_found` and `chat_attachment_not_found`. */
export async function findAttachment(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { chat_id: chatId, attachment_id: id }: ChatAttachmentPath,
): Promise<AttachmentState> {
  const chat = await findChat({ db }, call, chatId);
  return findRow('chatAttachment', id, 'attachment_id', () => selectAttachment(db.sql, chat.id, id));
}

/** Finds the file of an attachment. Throws the errors of `findAttachment`. */
export async function findAttachedFile(deps: Pick<Deps, 'db'>, call: Call, path: ChatAttachmentPath): Promise<FileRow> {
  const { row } = await findAttachment(deps, call, path);
  const file = await selectFile(deps.db.sql, call.caller.organizationId, row.fileId);
  if (file === null) throw notFound('chat_attachment', path.attachment_id, 'attachment_id');
  return file;
}

/**
 * Deletes an attachment with its file and document. Messages keep the name. Once the promise resolves, searches no
 * longer return its text. Throws the errors of `findAttachment`.
 */
export async function deleteAttachment(deps: ChatHistoryDeps, call: Call, path: ChatAttachmentPath) {
  const { chat_id: chatId, attachment_id: id } = path;
  const { organizationId } = call.caller;
  const now = deps.now();
  const deleted = await deps.db.sql.transaction(async (sql) => {
    const chat = await findRow('chat', chatId, 'chat_id', () => lockChat(sql, call.caller, chatId));
    const { row } = await findRow('chatAttachment', id, 'attachment_id', () => selectAttachment(sql, chat.id, id));
    const baseId = chat.attachmentBaseId;
    if (row.dataSourceId !== null && baseId !== null) {
      await lockPrivateBase(sql, baseId);
      const source = await lockDataSource(sql, organizationId, { baseId, id: row.dataSourceId });
      if (source !== null) await removeDataSource(sql, source, now);
    }
    await deleteAttachmentRow(sql, id);
    return { baseId, blobs: await deletePrivateFiles(sql, [row.fileId], new Date(now)) };
  });
  if (deleted.baseId !== null) await applyTombstones(deps, deleted.baseId);
  for (const blob of deleted.blobs) await deleteOrphanedBlob(deps, blob);
  return { id, object: 'chat.attachment' as const, deleted: true as const };
}

/** Returns the kind of an attachment. */
export const attachmentKind = ({ row }: AttachmentState) => (row.dataSourceId === null ? 'image' : 'document');

/** Converts a row to the attachment of the API. */
export function viewAttachment(attachment: AttachmentState): ChatAttachment {
  const { row, file, reading } = attachment;
  const error = findError(attachment);
  const isReading = attachment.source?.status === 'processing';
  return {
    id: row.id,
    object: 'chat.attachment',
    chat_id: row.chatId,
    kind: attachmentKind(attachment),
    name: file.name,
    bytes: file.bytes,
    status: isReading ? 'processing' : error === null ? 'ready' : 'failed',
    progress: isReading ? reading : null,
    error: isReading ? null : error,
    created_at: toUnixSeconds(row.createdAt),
  };
}

const UNREADABLE = { code: 'unsupported_file', message: 'No text could be read from the file.' };

/** Returns the error of a processed file, or null. Partly unreadable files, such as JSONL, have no error. */
function findError({ row, file, source, isRead, failure }: AttachmentState): ChatAttachment['error'] {
  if (row.dataSourceId === null)
    return file.status === 'error' ? { ...UNREADABLE, message: file.details ?? UNREADABLE.message } : null;
  if (isRead) return null;
  const { code, message } = failure ?? source?.error ?? UNREADABLE;
  return { code, message };
}
