import type { ChatMessage } from './engine.ts';
import { prependText } from './prompt-images.ts';

/** Sequences of roles that a chat template supports. */
export interface RoleTraits {
  /** A system message may come first, and is rendered before calls and results. */
  systemFirst: boolean;
  /** Several system messages, and later ones, are supported. */
  systemAnywhere: boolean;
  /** Consecutive messages of one role are supported. */
  repeatedRoles: boolean;
}

/** The fields of a message that decide where its text may be moved. */
type RoleMessage = Pick<ChatMessage, 'role' | 'content' | 'images'> & { tool_calls?: readonly unknown[] };

/**
 * Arranges messages in a sequence of roles that the template supports, without dropping content: system messages are
 * prepended to the next user message, consecutive messages of one role are joined.
 */
export function arrangeRoles<Message extends RoleMessage>(messages: readonly Message[], traits: RoleTraits): Message[] {
  const placed = traits.systemAnywhere ? [...messages] : placeSystemMessages(messages, traits);
  return traits.repeatedRoles ? placed : joinRepeatedRoles(placed);
}

/** System messages that the template rejects or drops are prepended to the next user message. */
function placeSystemMessages<Message extends RoleMessage>(
  messages: readonly Message[],
  { systemFirst }: RoleTraits,
): Message[] {
  const placed: Message[] = [];
  let waiting: Message | null = null;
  for (const message of messages) {
    if (message.role === 'system') {
      waiting = waiting === null ? message : joinMessages(waiting, message);
      continue;
    }
    if (placed.length === 0 && systemFirst && waiting !== null) {
      placed.push(waiting);
      waiting = null;
    }
    if (message.role === 'user' && waiting !== null) {
      placed.push(joinMessages(waiting, message));
      waiting = null;
    } else placed.push(message);
  }
  if (waiting !== null) placed.push(placed.length === 0 && systemFirst ? waiting : { ...waiting, role: 'user' });
  return placed;
}

function joinRepeatedRoles<Message extends RoleMessage>(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    const joins = last?.role === message.role && message.role !== 'tool' && message.role !== 'system';
    if (last === undefined || !joins || last.tool_calls !== undefined || message.tool_calls !== undefined) {
      joined.push(message);
    } else joined[joined.length - 1] = joinMessages(last, message);
  }
  return joined;
}

/** The second message with the text and the images of the first one before its own. */
function joinMessages<Message extends RoleMessage>(first: Message, second: Message): Message {
  const joined = prependText(second, `${first.content ?? ''}\n\n`);
  const images = [...(first.images ?? []), ...(joined.images ?? [])];
  return images.length === 0 ? joined : { ...joined, images };
}
