import { declineWith, quoteSections } from './compose-answer.ts';
import type { AnswerServices } from './conversation.ts';
import type { QuestionContext } from './extract-passages.ts';
import { type SelectedAnswer, selectAnswer } from './select-answer.ts';
import { selectSections } from './select-sections.ts';
import { ANSWER_TITLE } from './template.ts';

/**
 * Finds the answer in the passages: in texts of messages the sentence that answers, in documents of a knowledge base
 * the whole section, or two that fit equally well. Without an answer, the closest section is shown, unless the
 * instructions prescribe a reply.
 */
export async function findAnswer(
  { passages, question, previousQuestion, fallback, isSearched }: QuestionContext,
  services: AnswerServices,
  signal: AbortSignal,
): Promise<SelectedAnswer> {
  const query = `${previousQuestion} ${question}`.trim();
  if (!isSearched) return selectAnswer(passages, query, services, signal);
  const computed = passages.find(({ isComputed }) => isComputed === true)?.text;
  if (computed !== undefined) return { shown: [{ title: ANSWER_TITLE, text: computed }], answer: computed };
  const selection = await selectSections(passages, query, services, signal);
  if (selection?.fit === 'answer') {
    const answer = quoteSections(selection.sections);
    return { shown: [{ title: ANSWER_TITLE, text: answer }], answer };
  }
  const isShown = selection?.fit === 'close' && fallback === null;
  return { shown: [], answer: isShown ? declineWith(selection.sections[0]) : null };
}
