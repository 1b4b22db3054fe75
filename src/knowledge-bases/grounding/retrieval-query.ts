import type { ChatMessage } from '../../engines/engine.ts';
import { isFollowUp } from './follow-up.ts';

/** Characters of a question that are searched for: the rest of a pasted text would only blur them. */
const MAX_QUERY_CHARACTERS = 4000;
/** Characters of what was said before that are searched for beside a question that leans on it. */
const MAX_EARLIER_CHARACTERS = 1000;
/** Characters of an answer that is searched for, too: what a short one names is often what the next question means. */
const MAX_ANSWER_CHARACTERS = 60;

/**
 * What to search for to answer the last user message: the message itself; where it leans on what was said before, with the user's previous
 * message and the answer to it, if that was short. A first turn is taken as it is. Null where no user has said anything.
 *
 * No model is asked: a call before every answer costs its time and the user's money, and on made follow-ups in twelve languages these
 * rules found what was meant nearly always (docs/decisions/0013-grounding.md).
 */
export function retrievalQuery(messages: readonly ChatMessage[]): string | null {
  const turns = messages.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content?.trim());
  const at = turns.findLastIndex(({ role }) => role === 'user');
  const last = textOf(turns[at]).slice(-MAX_QUERY_CHARACTERS);
  if (last === '') return null;
  const before = turns.slice(0, at);
  const previous = textOf(before.findLast(({ role }) => role === 'user')).slice(-MAX_EARLIER_CHARACTERS);
  const said = turns.map(textOf).join('\n');
  if (previous === '' || !isFollowUp(last, said)) return last;
  const answer = textOf(before.findLast(({ role }) => role === 'assistant'));
  // A long answer would find the document that it is from.
  const short = answer.length <= MAX_ANSWER_CHARACTERS ? answer : '';
  // Twice: where the topic has changed after all, the question's own words still count most.
  return [previous, short, last, last].filter((text) => text !== '').join('\n');
}

const textOf = (message: ChatMessage | undefined): string => message?.content?.trim() ?? '';
