/** From which scores an answer is given. */
export interface AnswerThresholds {
  /** Minimum relevance of a sentence. */
  sentence: number;
  /**
   * Minimum rerank scores of `heading: text` with which a section answers, and with which it is shown as the closest one. A
   * heading of the document says what a section is about, so less is enough.
   */
  section: Readonly<Record<'headed' | 'unheaded', { answer: number; close: number }>>;
}

/**
 * Fitted on the development halves of `eval/manuals` and XQuAD, so that nine in ten unanswerable questions are declined
 * (bench/results/0013-grounding.md).
 */
const DEFAULT: AnswerThresholds = {
  sentence: 0.35,
  section: { headed: { answer: 0.1, close: 0.02 }, unheaded: { answer: 0.2, close: 0.1 } },
};
/** Most syllables of Vietnamese are frequent words of their own, and Thai is compared by pairs of characters: chance matches are usual. */
const VIETNAMESE: AnswerThresholds = {
  sentence: 0.75,
  section: { headed: { answer: 0.2, close: 0.1 }, unheaded: { answer: 0.3, close: 0.2 } },
};
const THAI: AnswerThresholds = {
  sentence: 0.5,
  section: { headed: { answer: 0.15, close: 0.05 }, unheaded: { answer: 0.2, close: 0.15 } },
};

/** Letters of Vietnamese that no other common language has. */
const VIETNAMESE_LETTER = /[ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]/i;
const THAI_LETTER = /\p{Script=Thai}/u;

/** The thresholds for a question, by its language. */
export function thresholdsFor(question: string): AnswerThresholds {
  if (THAI_LETTER.test(question)) return THAI;
  return VIETNAMESE_LETTER.test(question.normalize('NFC')) ? VIETNAMESE : DEFAULT;
}
