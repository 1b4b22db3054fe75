import { createHash } from 'node:crypto';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { fileTooLarge, invalidValue, notFound } from '../errors.ts';
import { isImageName, sanitizeFilename } from '../files/formats.ts';
import type { FileRow } from '../files/store.ts';
import { type UploadDeps, uploadFile } from '../files/upload-file.ts';
import { requireScope } from '../http/auth.ts';
import { type FormSource, type IncomingForm, readForm } from '../http/multipart.ts';
import { requireModel } from '../inference/admission.ts';
import { newKnowledgeBase } from '../knowledge-bases/create-knowledge-base.ts';
import { newDataSource } from '../knowledge-bases/data-sources/create-data-source.ts';
import { startSync } from '../knowledge-bases/data-sources/start-sync.ts';
import { insertDataSource } from '../knowledge-bases/data-sources/store.ts';
import { insertKnowledgeBase, lockPrivateBase } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import {
  type ChatAttachment,
  MAX_ATTACHED_IMAGE_BYTES,
  MAX_ATTACHMENTS,
  MAX_CHAT_BYTES,
  MAX_DOCUMENT_BYTES,
} from './attachment-schema.ts';
import { insertAttachment, measureAttachments } from './attachment-store.ts';
import { findAttachment, viewAttachment } from './attachments.ts';
import { findChat } from './manage-chats.ts';
import { type ChatRow, lockChat, updateChatRow } from './store.ts';

/** Dependencies of uploads to chats. */
export type AttachDeps = UploadDeps & Pick<Deps, 'models' | 'secrets'>;

const FORM = { file: 'file', maxFileBytes: MAX_DOCUMENT_BYTES, fields: [] } as const;
/** Name of the private knowledge base and its data sources. */
const NAME = 'Attachments';

/**
 * Streams the file of a multipart form into an attachment of a chat. Documents are ingested into the private knowledge
 * base of the chat, which the first document creates. Images are stored for messages. The file, the knowledge base and
 * the job are committed in one transaction. Throws the errors of `findChat` and `uploadFile`, 400 or 413 above the
 * limits, and 403 without the scope `knowledge`.
 */
export async function attachFile(
  deps: AttachDeps,
  call: Call,
  { chatId, source }: { chatId: string; source: FormSource },
  signal: AbortSignal,
): Promise<{ attachment: ChatAttachment; identity: string }> {
  const chat = await findChat(deps, call, chatId);
  await requireCapacity(deps.db.sql, chat.id, 1);
  return readForm(source, FORM, signal, async (form) => {
    const id = newId('chatAttachment');
    const file = await storeAttachment(deps, call, { chat, form, id }, signal);
    const attachment = viewAttachment(await findAttachment(deps, call, { chat_id: chat.id, attachment_id: id }));
    return { attachment, identity: toIdentity(file) };
  });
}

/** Computes the identity of an attachment without storing it. */
export function identifyAttachment(source: FormSource, signal: AbortSignal): Promise<string> {
  return readForm(source, FORM, signal, async ({ filename, content }) => {
    const hash = createHash('sha256');
    for await (const bytes of content) hash.update(bytes);
    return toIdentity({ filename: sanitizeFilename(filename), sha256: hash.digest('hex') });
  });
}

const toIdentity = ({ filename, sha256 }: Pick<FileRow, 'filename' | 'sha256'>): string =>
  JSON.stringify([filename, sha256]);

function storeAttachment(
  deps: AttachDeps,
  call: Call,
  { chat, form, id }: { chat: ChatRow; form: IncomingForm; id: string },
  signal: AbortSignal,
): Promise<FileRow> {
  const { caller } = call;
  const isImage = isImageName(sanitizeFilename(form.filename));
  // Searches return the text of documents, so the key needs the scope `knowledge`.
  if (!isImage) requireScope(caller, 'knowledge', 'file');
  const file = {
    filename: form.filename,
    content: isImage ? limitBytes(form.content, MAX_ATTACHED_IMAGE_BYTES) : form.content,
    purpose: () => 'knowledge-base' as const,
    privateTo: caller.keyId,
    onCommit: async (sql: Sql, fileId: string) => {
      const locked = await lockChat(sql, caller, chat.id);
      if (locked === null) throw notFound('chat', chat.id, 'chat_id');
      const dataSourceId = isImage ? null : await addDocument(sql, deps, call, { chat: locked, fileId });
      await insertAttachment(sql, { id, chatId: chat.id, fileId, dataSourceId, createdAt: new Date(deps.now()) });
      await requireCapacity(sql, chat.id, 0);
    },
  };
  return uploadFile(deps, caller, file, signal);
}

/** Enqueues the ingestion of a file into the knowledge base of a locked chat. Returns the id of the data source. */
async function addDocument(
  sql: Sql,
  deps: AttachDeps,
  { caller }: Call,
  { chat, fileId }: { chat: ChatRow; fileId: string },
): Promise<string> {
  const { organizationId } = caller;
  const stored = chat.attachmentBaseId === null ? null : await lockPrivateBase(sql, chat.attachmentBaseId);
  const base = stored ?? { ...newKnowledgeBase(deps, caller, { name: NAME }, 'file'), privateTo: chat.ownerId };
  requireModel(caller, base.embeddingModel, 'file');
  if (stored === null) {
    await insertKnowledgeBase(sql, base);
    await updateChatRow(sql, caller, chat.id, { attachmentBaseId: base.id });
  }
  const body = { type: 'file_upload' as const, name: NAME, config: { file_ids: [fileId] } };
  const source = newDataSource(deps, { organizationId, baseId: base.id, body });
  await insertDataSource(sql, source);
  await startSync(sql, deps, caller, source);
  return source.id;
}

/** Throws 400 unless a chat has room for more attachments. */
async function requireCapacity(sql: Sql, chatId: string, more: number): Promise<void> {
  const { total, bytes } = await measureAttachments(sql, chatId);
  if (total + more > MAX_ATTACHMENTS)
    throw invalidValue('file', `exceeds the limit of ${MAX_ATTACHMENTS} files per chat`);
  if (bytes > MAX_CHAT_BYTES)
    throw invalidValue('file', `exceeds the limit of ${MAX_CHAT_BYTES} bytes for all files of a chat`);
}

async function* limitBytes(content: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    if (bytes > limit) throw fileTooLarge(limit);
    yield chunk;
  }
}
