import { declineWith, quoteSection } from './compose-answer.ts';
import type { QuestionContext } from './extract-passages.ts';
import { type AnswerRanker, type SelectedAnswer, selectAnswer } from './select-answer.ts';
import { selectSection } from './select-section.ts';
import { ANSWER_TITLE } from './template.ts';

/**
 * Finds the answer in the passages. In documents of a knowledge base it is the section that fits best; where none fits well
 * enough, and in texts of messages, the sentence. Without an answer, the closest section of the documents is shown, unless the
 * instructions prescribe a reply.
 */
export async function findAnswer(
  { passages, question, previousQuestion, fallback, isSearched }: QuestionContext,
  ranker: AnswerRanker,
  signal: AbortSignal,
): Promise<SelectedAnswer> {
  const query = `${previousQuestion} ${question}`.trim();
  const section = isSearched ? await selectSection(passages, query, ranker, signal) : null;
  if (section?.fit === 'answer') {
    const answer = quoteSection(section);
    return { shown: [{ title: ANSWER_TITLE, text: answer }], answer };
  }
  const selected = await selectAnswer(passages, query, ranker, signal);
  if (selected.answer !== null || section?.fit !== 'close' || fallback !== null) return selected;
  return { shown: [], answer: declineWith(section) };
}
