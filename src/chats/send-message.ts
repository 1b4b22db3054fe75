import { ApiError, invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
import { startBackground } from '../responses/background.ts';
import { type ConversationItem, toConversation } from '../responses/conversation.ts';
import type { BackgroundDeps } from '../responses/run-background.ts';
import type { CreateResponse, ResponseResource } from '../responses/schema.ts';
import { selectOwnedResponses } from '../responses/store.ts';
import { findChat, storable } from './manage-chats.ts';
import { viewMessage } from './read-messages.ts';
import type { ChatMessageResource, SendChatMessage } from './schema.ts';
import { insertChatMessage, selectMessageTree, updateChatRow } from './store.ts';

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
  const { model, knowledge_base_ids: knowledgeBaseIds = [], parent_id: parentId = null } = message;
  const text = storable(message.text, 'text');
  if (text.trim() === '') throw invalidValue('text', 'must not be blank');
  const earlier = await readBranch(deps, chat.id, parentId);
  const options = {
    reservedTokens,
    owner: chat.id,
    earlier,
    onStore: async (sql: typeof deps.db.sql, id: string) => {
      const changes = {
        title: chat.title === '' ? titleFrom(text) : chat.title,
        currentMessageId: id,
        model,
        knowledgeBaseIds,
        updatedAt: new Date(deps.now()),
      };
      if ((await updateChatRow(sql, call.caller, chat.id, changes)) === null) throw notFound('chat', chatId, 'chat_id');
      await insertChatMessage(sql, { id, chatId: chat.id, parentId, text });
    },
  };
  const response = await startBackground(deps, call, toRequest(message), options).catch((error: unknown) => {
    throw toMessageError(error);
  });
  const row = { id: response.id, chatId, parentId, text, createdAt: new Date(response.created_at * 1000) };
  return viewMessage(row, response, null);
}

/** The conversation from the first message of a branch to the answer of `lastId`, as models read it. */
async function readBranch(
  { db }: Pick<BackgroundDeps, 'db'>,
  chatId: string,
  lastId: string | null,
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
    throw invalidValue('parent_id', 'names a message whose answer has not ended');
  return branch.flatMap(({ id, text }): ConversationItem[] => {
    const { output } = JSON.parse(rows.get(id)?.response ?? '{"output":[]}') as ResponseResource;
    return [{ type: 'message', message: { role: 'user', content: text } }, ...toConversation(output)];
  });
}

function toRequest({ text, model, knowledge_base_ids: ids = [] }: SendChatMessage): CreateResponse {
  const tools: CreateResponse['tools'] = [
    { type: 'file_search', file_search: { knowledge_base_ids: ids } },
    { type: 'query_table' },
  ];
  return {
    model,
    input: [{ role: 'user', content: text }],
    ...(ids.length > 0 && { tools }),
    // A long chat goes on without its oldest messages.
    truncation: 'auto',
    background: true,
    stream: true,
  };
}

/** Where the fields of a response are in a message. */
const FIELDS: readonly (readonly [string, string])[] = [
  ['tools.0.file_search.knowledge_base_ids', 'knowledge_base_ids'],
  ['input', 'text'],
];

/** The error of the response with the field of the message. */
function toMessageError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const { param, message } = error;
  const field = FIELDS.find(([from]) => param === from || param.startsWith(`${from}.`));
  if (field === undefined) return error;
  const [from, to] = field;
  const renamed = to === 'text' ? to : to + param.slice(from.length);
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
