import { useState } from 'react';
import { useModels } from '../api/use-models.ts';
import type { ChatSettings } from './composer.tsx';
import { useChat, useChatList } from './use-chats.ts';
import { type PresetChoice, usePresets } from './use-presets.ts';

const DEFAULT_MODEL = 'general-8b';

/**
 * Model, knowledge bases and preset of the draft message: the user's selection, otherwise the settings of the last
 * message. A new chat starts with the default preset, otherwise with the model of the newest chat.
 */
export function useSettings(chatId: string | undefined) {
  const [chosen, setChosen] = useState<{ chatId: string | undefined; change: Partial<ChatSettings> }>({
    chatId,
    change: {},
  });
  // What was chosen for a new chat belongs to the chat that its first message creates.
  if (chosen.chatId !== chatId) setChosen({ chatId, change: chosen.chatId === undefined ? chosen.change : {} });
  const chat = useChat(chatId).data;
  const presets = usePresets() ?? [];
  const isNew = chatId === undefined || chat?.message_count === 0;
  const initial = isNew
    ? presets.find(({ id, default: isDefault }) => (chat === undefined ? isDefault : id === chat.preset?.id))
    : undefined;
  const { presetId } = chosen.change;
  const inherited: PresetChoice | null = (chat === undefined ? initial : chat.preset) ?? null;
  const preset = presetId === undefined ? inherited : (presets.find(({ id }) => id === presetId) ?? null);
  const newest = useChatList('').data?.pages[0]?.data.find(({ model }) => model !== null);
  const served = useModels().data?.data.filter(({ capabilities }) => capabilities.chat_completion) ?? [];
  const isServed = (id: string | null | undefined) => served.some((model) => model.id === id);
  const model =
    [chat?.model, initial?.model, newest?.model, DEFAULT_MODEL, served[0]?.id].find(isServed) ?? DEFAULT_MODEL;
  const knowledgeBaseIds = initial?.knowledge_base_ids ?? chat?.knowledge_base_ids ?? [];
  const settings: ChatSettings = { model, knowledgeBaseIds, ...chosen.change };
  return {
    settings,
    presets,
    preset,
    change: (change: Partial<ChatSettings>) => setChosen({ chatId, change: { ...chosen.change, ...change } }),
  };
}
