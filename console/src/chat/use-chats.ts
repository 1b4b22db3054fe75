import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, body } from '../api/client.ts';
import { nextPage } from '../ui/resource-table.tsx';
import type { ChatMessage } from './branch.ts';
import type { Chat } from './group-chats.ts';

/** Chats and messages of one request. */
const CHATS = 50;
const MESSAGES = 100;

/** The chats of the user, a page at a time; only those with a text when there is one. */
export const useChatList = (search: string) =>
  useInfiniteQuery({
    queryKey: ['chats', search],
    queryFn: ({ pageParam: after }) => {
      const query = { limit: CHATS, ...(after !== undefined && { after }), ...(search !== '' && { search }) };
      return body(api.GET('/v1/chats', { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextPage,
  });

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
}

/** Sends messages to a chat; to a new one without an id. */
export function useSendMessage(chatId: string | undefined, onSent: (message: ChatMessage) => void) {
  const client = useQueryClient();
  // A chat whose first message was rejected gets the next one.
  const created = useRef<string | null>(null);
  return useMutation({
    mutationFn: async ({ text, parentId, model, knowledgeBaseIds }: Draft): Promise<ChatMessage> => {
      if (chatId === undefined) created.current ??= (await body(api.POST('/v1/chats', { body: {} }))).id;
      const params = { path: { chat_id: chatId ?? created.current ?? '' } };
      const message = { text, parent_id: parentId, model, knowledge_base_ids: [...knowledgeBaseIds] };
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
      void client.invalidateQueries({ queryKey: ['chat', id] });
      void client.invalidateQueries({ queryKey: ['chats'] });
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
    onError: () => void client.invalidateQueries({ queryKey: ['chat', chatId] }),
  });
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
