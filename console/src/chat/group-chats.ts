import type { Schema } from '../api/types.ts';

/** A chat of the list. */
export type Chat = Schema<'ChatResource'>;

/** Groups of the list, in its order. */
export const CHAT_GROUPS = ['pinned', 'today', 'yesterday', 'week', 'month', 'older'] as const;

/** One of `CHAT_GROUPS`. */
export type ChatGroup = (typeof CHAT_GROUPS)[number];

/** Days since the beginning of each group, in the time zone of the browser. */
const DAYS: readonly (readonly [ChatGroup, number])[] = [
  ['today', 0],
  ['yesterday', 1],
  ['week', 7],
  ['month', 30],
];

/** Groups chats by the day of their last message. Each group keeps the order; groups without chats are left out. */
export function groupChats(chats: readonly Chat[], now: Date): { group: ChatGroup; chats: Chat[] }[] {
  const groups = new Map<ChatGroup, Chat[]>(CHAT_GROUPS.map((group) => [group, []]));
  for (const chat of chats) groups.get(findGroup(chat, now))?.push(chat);
  return [...groups].flatMap(([group, members]) => (members.length === 0 ? [] : [{ group, chats: members }]));
}

function findGroup({ pinned, updated_at: updatedAt }: Chat, now: Date): ChatGroup {
  if (pinned) return 'pinned';
  const begins = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime();
  return DAYS.find(([, days]) => updatedAt * 1000 >= begins(days))?.[0] ?? 'older';
}
