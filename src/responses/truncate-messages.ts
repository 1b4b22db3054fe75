import type { ChatMessage } from '../engines/engine.ts';

/**
 * Leaves out the older half of the messages that may be left out: all but system messages and the last question with
 * what follows it. The rest begins with a question. Returns null when nothing may be left out. Called until the prompt
 * fits, so it halves instead of counting.
 */
export function truncateMessages(messages: readonly ChatMessage[]): ChatMessage[] | null {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const earlier = messages.slice(0, Math.max(0, last)).filter(({ role }) => role !== 'system').length;
  if (earlier === 0) return null;
  let dropped = 0;
  const start = messages.findIndex(({ role }) => {
    if (role === 'user' && dropped >= earlier / 2) return true;
    if (role !== 'system') dropped += 1;
    return false;
  });
  return messages.filter(({ role }, index) => index >= start || role === 'system');
}
