import type { ResponseItem } from '../answers/response-events.ts';
import type { Schema } from '../api/types.ts';

/** A message of a chat, with its answer. */
export type ChatMessage = Schema<'ChatMessageResource'>;

/** The messages from the first one to `lastId`, each the parent of the next one. Empty without such a message. */
export function readBranch(messages: readonly ChatMessage[], lastId: string | null | undefined): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: ChatMessage[] = [];
  for (let at = byId.get(lastId ?? ''); at !== undefined; at = byId.get(at.parent_id ?? '')) branch.unshift(at);
  return branch;
}

/** The branches that begin beside a message, itself included, in the order in which they were sent. */
export const readSiblings = (messages: readonly ChatMessage[], { parent_id: parent }: ChatMessage): ChatMessage[] =>
  messages.filter(({ parent_id: each }) => each === parent);

/** The end of a branch: from a message on, always the newest message that follows. */
export function findBranchEnd(messages: readonly ChatMessage[], id: string): string {
  const next = messages.findLast(({ parent_id: parent }) => parent === id);
  return next === undefined ? id : findBranchEnd(messages, next.id);
}

/** Whether the answer of a message is still being written. */
export const isRunning = ({ response }: ChatMessage): boolean =>
  response.status === 'queued' || response.status === 'in_progress';

/** The output of the answer, in the form that answers read. */
export const readOutput = ({ response }: ChatMessage): readonly ResponseItem[] =>
  response.output as unknown as readonly ResponseItem[];
