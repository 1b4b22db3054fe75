import type { ChatMessage } from '../../engines/engine.ts';
import { isFollowUp } from './follow-up.ts';

/** Characters of a question to search for, from its end: more of a pasted text lowers precision. */
const MAX_QUERY_CHARACTERS = 4000;
/** Characters of the previous question to search for with a follow-up question. */
const MAX_EARLIER_CHARACTERS = 1000;
/** Longest answer to search for with a follow-up question: a short one often names its topic. */
const MAX_ANSWER_CHARACTERS = 60;

/**
 * The search query for the last user message: the message itself; for a follow-up, with the previous user message and
 * its answer when that is short. Null when there is no user message.
 *
 * Rules instead of a model: a model call adds latency and cost to every answer, and on follow-ups in twelve languages
 * the rules find the topic nearly always (docs/develop/decisions/0013-grounding.md).
 */
export function retrievalQuery(messages: readonly ChatMessage[]): string | null {
  const turns = messages.filter(({ role, content }) => (role === 'user' || role === 'assistant') && content?.trim());
  const at = turns.findLastIndex(({ role }) => role === 'user');
  const last = readText(turns[at]).slice(-MAX_QUERY_CHARACTERS);
  if (last === '') return null;
  const before = turns.slice(0, at);
  const previous = readText(before.findLast(({ role }) => role === 'user')).slice(-MAX_EARLIER_CHARACTERS);
  const said = turns.map(readText).join('\n');
  if (previous === '' || !isFollowUp(last, said)) return last;
  const answer = readText(before.findLast(({ role }) => role === 'assistant'));
  // A long answer would find its own source again.
  const short = answer.length <= MAX_ANSWER_CHARACTERS ? answer : '';
  // Twice, so that the words of the question count most when the topic has changed.
  return [previous, short, last, last].filter((text) => text !== '').join('\n');
}

const readText = (message: ChatMessage | undefined): string => message?.content?.trim() ?? '';
