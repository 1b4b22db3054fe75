import { type AppliedPreset, applyPreset } from '../chat-presets/apply-preset.ts';
import { findChoosablePreset } from '../chat-presets/manage-presets.ts';
import { selectPreset } from '../chat-presets/store.ts';
import { ApiError, invalidValue, missingField, notFound } from '../errors.ts';
import { toPlainName } from '../knowledge-bases/grounding/render-context.ts';
import { selectExistingBases } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
import { startBackground } from '../responses/background.ts';
import { type ConversationItem, toConversation } from '../responses/conversation.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import type { CreateResponse, ResponseResource } from '../responses/schema.ts';
import { selectOwnedResponses } from '../responses/store.ts';
import { selectDocumentNames } from './attachment-store.ts';
import { findChat, storable } from './manage-chats.ts';
import { viewMessage } from './read-messages.ts';
import type { ChatMessageResource, SendChatMessage } from './schema.ts';
import { acceptsImages, findMessageFiles, toUserItem } from './sent-attachments.ts';
import { type ChatRow, firstTitle, insertChatMessage, selectMessageTree, updateChatRow } from './store.ts';

/** Characters of a title that is made from a message. */
const TITLE_CHARACTERS = 60;

/**
 * Sends a message: starts a response in the background, which continues when the caller leaves. Throws 404
 * `chat_not_found` and `chat_message_not_found`, and as `startBackground` does with the fields of the message.
 */
export async function sendMessage(
  deps: BackgroundDeps,
  call: Call,
  chatId: string,
  { message, reservedTokens }: { message: SendChatMessage; reservedTokens: number },
): Promise<ChatMessageResource> {
  const chat = await findChat(deps, call, chatId);
  const { parent_id: parentId = null } = message;
  const text = storable(message.text, 'text');
  if (text.trim() === '') throw invalidValue('text', 'must not be blank');
  const { presetId, preset } = await choosePreset(deps, call, chat.presetId, message.preset_id);
  const model = message.model ?? preset?.model;
  if (model == null) throw missingField('model');
  const knowledgeBaseIds = [...(message.knowledge_base_ids ?? preset?.knowledgeBaseIds ?? [])];
  await requireShared(deps, call, knowledgeBaseIds);
  const attachments = await findMessageFiles(deps, chat.id, { ...message, model });
  const withImages = acceptsImages(deps, model);
  const branch = await readBranch(deps, chat.id, parentId, withImages);
  const earlier = [...branch, toUserItem({ text, attachments }, withImages)];
  const attached = await findDocuments(deps, chat);
  const options = {
    reservedTokens,
    owner: chat.id,
    earlier,
    onStore: async (sql: typeof deps.db.sql, id: string) => {
      const changes = {
        title: firstTitle(titleFrom(text)),
        currentMessageId: id,
        model,
        knowledgeBaseIds,
        presetId,
        updatedAt: new Date(deps.now()),
      };
      if ((await updateChatRow(sql, call.caller, chat.id, changes)) === null) throw notFound('chat', chatId, 'chat_id');
      await insertChatMessage(sql, { id, chatId: chat.id, parentId, text, attachments });
    },
  };
  const request = toRequest({ model, knowledgeBaseIds, attached }, preset);
  const response = await startBackground(deps, call, request, options).catch((error: unknown) => {
    throw toMessageError(error);
  });
  const row = { id: response.id, chatId, parentId, text, attachments, createdAt: new Date(response.created_at * 1000) };
  return viewMessage(row, response, null, undefined);
}

/** The conversation from the first message of a branch to the answer of `lastId`, as models read it. */
async function readBranch(
  { db }: Pick<BackgroundDeps, 'db'>,
  chatId: string,
  lastId: string | null,
  withImages: boolean,
): Promise<ConversationItem[]> {
  if (lastId === null) return [];
  const byId = new Map((await selectMessageTree(db.sql, chatId)).map((row) => [row.id, row]));
  const branch = [];
  for (let row = byId.get(lastId); row !== undefined; row = byId.get(row.parentId ?? '')) branch.unshift(row);
  const ids = branch.map(({ id }) => id);
  const rows = new Map((await selectOwnedResponses(db.sql, chatId, ids)).map((row) => [row.id, row]));
  const last = rows.get(lastId);
  if (last === undefined) throw notFound('chat_message', lastId, 'parent_id');
  if (last.status === 'queued' || last.status === 'in_progress')
    throw invalidValue('parent_id', 'names a message whose answer is not complete');
  return branch.flatMap(({ id, ...sent }): ConversationItem[] => {
    const { output } = JSON.parse(rows.get(id)?.response ?? '{"output":[]}') as ResponseResource;
    return [toUserItem(sent, withImages), ...toConversation(output)];
  });
}

/**
 * Returns the preset that the message names, or the preset of the chat. The preset of the chat still applies when it is
 * unpublished, but not when it is deleted.
 */
async function choosePreset(
  deps: BackgroundDeps,
  call: Call,
  current: string | null,
  chosen: string | null | undefined,
): Promise<{ presetId: string | null; preset: AppliedPreset | null }> {
  const id = chosen === undefined ? current : chosen;
  if (id === null) return { presetId: null, preset: null };
  const row =
    id === current
      ? await selectPreset(deps.db.sql, call.caller.organizationId, id)
      : await findChoosablePreset(deps, call, id, 'preset_id');
  return row === null ? { presetId: null, preset: null } : { presetId: id, preset: await applyPreset(deps, call, row) };
}

/** Throws 404 unless the ids are shared knowledge bases of the organization. A chat's own knowledge base is private. */
async function requireShared({ db }: Pick<BackgroundDeps, 'db'>, { caller }: Call, ids: readonly string[]) {
  if (ids.length === 0) return;
  const shared = await selectExistingBases(db.sql, caller.organizationId, ids);
  const index = ids.findIndex((id) => !shared.includes(id));
  if (index !== -1) throw notFound('knowledge_base', ids[index] ?? '', `knowledge_base_ids.${index}`);
}

/** Documents that are attached to a chat. */
interface AttachedDocuments {
  baseId: string;
  names: readonly string[];
}

async function findDocuments({ db }: Pick<BackgroundDeps, 'db'>, chat: ChatRow): Promise<AttachedDocuments | null> {
  if (chat.attachmentBaseId === null) return null;
  const names = await selectDocumentNames(db.sql, chat.id);
  return names.length === 0 ? null : { baseId: chat.attachmentBaseId, names };
}

/** Request fields of a message. */
interface MessageRequest {
  model: string;
  knowledgeBaseIds: readonly string[];
  attached: AttachedDocuments | null;
}

/** Builds the request. Its conversation, including the message, is passed separately. */
function toRequest(
  { model, knowledgeBaseIds, attached }: MessageRequest,
  preset: AppliedPreset | null,
): CreateResponse {
  const ids = [...knowledgeBaseIds, ...(attached === null ? [] : [attached.baseId])];
  const search: CreateResponse['tools'] = [
    { type: 'file_search', file_search: { knowledge_base_ids: ids } },
    { type: 'query_table' },
  ];
  const tools = [...(ids.length > 0 ? search : []), ...(preset?.tools ?? [])];
  const instructions = [preset?.fields.instructions ?? [], attached === null ? [] : describeDocuments(attached)].flat();
  return {
    ...preset?.fields,
    model,
    input: [],
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    ...(tools.length > 0 && { tools }),
    // A long chat goes on without its oldest messages.
    truncation: 'auto',
    background: true,
    stream: true,
  };
}

/** Tells the model which documents exist, because models do not search for documents that they do not know. */
const describeDocuments = ({ names }: AttachedDocuments): string =>
  `The user has attached documents to this conversation, which file_search searches: ${names.map(toPlainName).join(', ')}`;

/** Where the fields of a response are in a message. */
const FIELDS: readonly (readonly [string, string])[] = [
  ['tools.0.file_search.knowledge_base_ids', 'knowledge_base_ids'],
  ['input', 'text'],
  ['tools', 'preset_id'],
];

/** The error of the response with the field of the message. */
function toMessageError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const { param, message } = error;
  const field = FIELDS.find(([from]) => param === from || param.startsWith(`${from}.`));
  if (field === undefined) return error;
  const [from, to] = field;
  const renamed = to === 'knowledge_base_ids' ? to + param.slice(from.length) : to;
  const { status, type, code, details } = error;
  const renamedMessage = message.replace(`'${param}'`, `'${renamed}'`);
  return new ApiError({ status, type, code, details, message: renamedMessage, param: renamed, cause: error });
}

/** The first words of a message. */
function titleFrom(text: string): string {
  const line = text.replace(/\s+/gu, ' ').trim();
  const end = line.lastIndexOf(' ', TITLE_CHARACTERS - 1);
  if (line.length <= TITLE_CHARACTERS || end < TITLE_CHARACTERS / 2) return truncateGraphemes(line, TITLE_CHARACTERS);
  return `${line.slice(0, end)}…`;
}
