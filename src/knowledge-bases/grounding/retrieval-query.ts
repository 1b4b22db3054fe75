import type { ChatMessage } from '../../engines/engine.ts';
import { isStopWord } from '../../search/languages.ts';

/** A question with fewer words of its own leans on what was said before. */
const FEW_TELLING_WORDS = 3;
/** Words that stand for something that was named before. */
const POINTING =
  /\b(?:it|its|he|she|him|his|her|hers|they|them|their|theirs|this|that|these|those|one|ones|there|same|former|latter|else|more|and|also)\b/i;
/** Characters of a question that are searched for: the rest of a pasted text would only blur them. */
const MAX_QUERY_CHARACTERS = 4000;

/**
 * What to search for to answer the last user message: the message itself, and before it the user's previous one where the last leans on
 * it. A first turn is taken as it is. Null where no user has said anything.
 */
export function retrievalQuery(messages: readonly ChatMessage[]): string | null {
  const said = messages
    .filter(({ role, content }) => role === 'user' && content?.trim())
    .map(({ content }) => String(content));
  const last = said.at(-1)?.trim();
  if (last === undefined) return null;
  const previous = said.at(-2)?.trim();
  const query = previous !== undefined && leansOnEarlier(last) ? `${previous}\n${last}` : last;
  return query.slice(-MAX_QUERY_CHARACTERS);
}

function leansOnEarlier(question: string): boolean {
  const words = question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => !isStopWord(word, 'en'));
  return telling.length < FEW_TELLING_WORDS || POINTING.test(question);
}
