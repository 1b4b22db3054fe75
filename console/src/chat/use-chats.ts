import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, body } from '../api/client.ts';
import { readAgain, useRefresh } from '../api/refresh.ts';
import { nextPage } from '../ui/resource-table.tsx';
import type { ChatMessage } from './branch.ts';
import type { Chat } from './group-chats.ts';

/** The path of a folder. */
export const FOLDER_PATH = '/v1/chat-folders/{folder}';
/** Queries that show properties of chats. */
export const CHAT_QUERIES = ['chats', 'chat'] as const;
/** Chats and messages of one request. */
const CHATS = 50;
const MESSAGES = 100;

/**
 * Loads the chats of the user page by page, filtered by `search`. `folder` limits the list to a folder, or to chats
 * without a folder if it is empty.
 */
export const useChatList = (search: string, folder?: string) =>
  useInfiniteQuery({
    queryKey: ['chats', 'list', search, folder],
    queryFn: ({ pageParam: after }) => {
      const filters = { ...(search !== '' && { search }), ...(folder !== undefined && { folder }) };
      const query = { limit: CHATS, ...(after !== undefined && { after }), ...filters };
      return body(api.GET('/v1/chats', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
  });

/** Loads the folders of the user. */
export const useFolders = () =>
  useQuery({ queryKey: ['chats', 'folders'], queryFn: () => body(api.GET('/v1/chat-folders')) });

/** One chat. */
export const useChat = (chatId: string | undefined) =>
  useQuery({
    queryKey: ['chat', chatId],
    enabled: chatId !== undefined,
    queryFn: () => body(api.GET('/v1/chats/{chat_id}', { params: { path: { chat_id: chatId ?? '' } } })),
  });

/** All messages of a chat, of all branches. */
export const useChatHistory = (chatId: string | undefined) =>
  useQuery({
    queryKey: ['chat-messages', chatId],
    enabled: chatId !== undefined,
    queryFn: () => readMessages(chatId ?? ''),
  });

async function readMessages(chatId: string): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [];
  for (let after: string | undefined; ; ) {
    const params = { path: { chat_id: chatId }, query: { limit: MESSAGES, ...(after !== undefined && { after }) } };
    const page = await body(api.GET('/v1/chats/{chat_id}/messages', { params }));
    messages.push(...page.data);
    after = nextPage(page);
    if (after === undefined) return messages;
  }
}

/** What is sent as a message. */
export interface Draft {
  text: string;
  parentId: string | null;
  model: string;
  knowledgeBaseIds: readonly string[];
  attachmentIds: readonly string[];
  presetId?: string | null;
}

/** Sends messages to a chat; to a new one without an id. */
export function useSendMessage(chatId: string | undefined, onSent: (message: ChatMessage) => void) {
  const client = useQueryClient();
  // A chat whose first message was rejected gets the next one.
  const created = useRef<string | null>(null);
  return useMutation({
    mutationFn: async ({
      text,
      parentId,
      model,
      knowledgeBaseIds,
      attachmentIds,
      presetId,
    }: Draft): Promise<ChatMessage> => {
      if (chatId === undefined) created.current ??= (await body(api.POST('/v1/chats', { body: {} }))).id;
      const params = { path: { chat_id: chatId ?? created.current ?? '' } };
      const ids = { knowledge_base_ids: [...knowledgeBaseIds], attachment_ids: [...attachmentIds] };
      const message = {
        text,
        parent_id: parentId,
        model,
        ...ids,
        ...(presetId !== undefined && { preset_id: presetId }),
      };
      // Not streamed: a message.
      return (await body(api.POST('/v1/chats/{chat_id}/messages', { params, body: message }))) as ChatMessage;
    },
    onSuccess: (message) => {
      const { chat_id: id } = message;
      created.current = null;
      client.setQueryData(['chat-messages', id], (before: ChatMessage[] = []) => [...before, message]);
      client.setQueryData(
        ['chat', id],
        (chat: Chat | undefined) => chat && { ...chat, current_message_id: message.id },
      );
      void readAgain(client, ['chat', id]);
      void readAgain(client, ['chats']);
      onSent(message);
    },
  });
}

/** Shows the branch that ends with a message, and stores it as the one that is shown. */
export function useShowBranch(chatId: string | undefined) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (lastId: string) => {
      const params = { path: { chat_id: chatId ?? '' } };
      await body(api.PATCH('/v1/chats/{chat_id}', { params, body: { current_message_id: lastId } }));
    },
    onMutate: (lastId) =>
      client.setQueryData(
        ['chat', chatId],
        (chat: Chat | undefined) => chat && { ...chat, current_message_id: lastId },
      ),
    onError: () => void readAgain(client, ['chat', chatId]),
  });
}

/** Delays after the first answer at which the generated title is looked for, in milliseconds. */
const TITLE_MS = [1_500, 5_000, 15_000];

/** Returns a function that reloads the title of a chat after its first answer. */
export function useTitleRefresh() {
  const refresh = useRefresh('chat', 'chats');
  return ({ parent_id: parent }: Pick<ChatMessage, 'parent_id'>): void => {
    if (parent === null) for (const ms of TITLE_MS) setTimeout(() => void refresh(), ms);
  };
}

/** Returns a function that reads a message again, such as when its answer has ended. */
export function useReadMessage() {
  const client = useQueryClient();
  return async ({ chat_id, id }: Pick<ChatMessage, 'chat_id' | 'id'>): Promise<void> => {
    const params = { path: { chat_id, message_id: id } };
    const message = await body(api.GET('/v1/chats/{chat_id}/messages/{message_id}', { params }));
    replaceMessage(client, message as ChatMessage);
  };
}

/** Stops the answer of a message. */
export function useStopAnswer() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ chat_id, id }: ChatMessage) => {
      const params = { path: { chat_id, message_id: id } };
      return (await body(api.POST('/v1/chats/{chat_id}/messages/{message_id}/cancel', { params }))) as ChatMessage;
    },
    onSuccess: (message) => replaceMessage(client, message),
  });
}

function replaceMessage(client: ReturnType<typeof useQueryClient>, message: ChatMessage): void {
  client.setQueryData(['chat-messages', message.chat_id], (before: ChatMessage[] | undefined) =>
    before?.map((each) => (each.id === message.id ? message : each)),
  );
}
