import { useState } from 'react';
import { useModels } from '../api/use-models.ts';
import type { ChatSettings } from './composer.tsx';
import { useChat, useChatList } from './use-chats.ts';

const DEFAULT_MODEL = 'general-8b';

/**
 * Model and knowledge bases of the next message: what was chosen since the chat was opened, else those of its last
 * message. A new chat starts with the model of the newest one, and without knowledge bases.
 */
export function useSettings(chatId: string | undefined) {
  const [chosen, setChosen] = useState<{ chatId: string | undefined; change: Partial<ChatSettings> }>({
    chatId,
    change: {},
  });
  // What was chosen for a new chat belongs to the chat that its first message creates.
  if (chosen.chatId !== chatId) setChosen({ chatId, change: chosen.chatId === undefined ? chosen.change : {} });
  const chat = useChat(chatId).data;
  const newest = useChatList('').data?.pages[0]?.data.find(({ model }) => model !== null);
  const served = useModels().data?.data.filter(({ capabilities }) => capabilities.chat_completion) ?? [];
  const isServed = (id: string | null | undefined) => served.some((model) => model.id === id);
  const model = [chat?.model, newest?.model, DEFAULT_MODEL, served[0]?.id].find(isServed) ?? DEFAULT_MODEL;
  const settings: ChatSettings = { model, knowledgeBaseIds: chat?.knowledge_base_ids ?? [], ...chosen.change };
  return {
    settings,
    change: (change: Partial<ChatSettings>) => setChosen({ chatId, change: { ...chosen.change, ...change } }),
  };
}
