/** Minimum probabilities with which a section answers, and with which it is shown as the closest one. */
export type SectionThresholds = Readonly<Record<'headed' | 'unheaded', { answer: number; close: number }>>;

/** From which probabilities an answer is given. */
export interface AnswerThresholds {
  /** Minimum relevance of a sentence. */
  sentence: number;
  section: SectionThresholds;
}

/**
 * Fitted on the development halves of `eval/manuals` and XQuAD, so that nine in ten unanswerable questions are declined
 * (bench/results/0013-grounding.md).
 */
const DEFAULT: AnswerThresholds = {
  sentence: 0.35,
  section: { headed: { answer: 0.43, close: 0.08 }, unheaded: { answer: 0.45, close: 0.1 } },
};
/** Most syllables of Vietnamese are frequent words of their own: chance matches are usual. */
const VIETNAMESE: AnswerThresholds = {
  sentence: 0.75,
  section: { headed: { answer: 0.45, close: 0.15 }, unheaded: { answer: 0.55, close: 0.4 } },
};
/** Scripts without spaces are compared by pairs of characters: scores are low, and chance matches are usual in Thai. */
const THAI: AnswerThresholds = {
  sentence: 0.5,
  section: { headed: { answer: 0.4, close: 0.1 }, unheaded: { answer: 0.32, close: 0.2 } },
};
const CHINESE_OR_JAPANESE: AnswerThresholds = {
  sentence: DEFAULT.sentence,
  section: { headed: { answer: 0.4, close: 0.1 }, unheaded: { answer: 0.3, close: 0.2 } },
};

/** Letters of Vietnamese that no other common language has. */
const VIETNAMESE_LETTER = /[ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]/i;
const THAI_LETTER = /\p{Script=Thai}/u;
const CHINESE_OR_JAPANESE_LETTER = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** The thresholds for a question, by its language. */
export function thresholdsFor(question: string): AnswerThresholds {
  if (THAI_LETTER.test(question)) return THAI;
  if (CHINESE_OR_JAPANESE_LETTER.test(question)) return CHINESE_OR_JAPANESE;
  return VIETNAMESE_LETTER.test(question.normalize('NFC')) ? VIETNAMESE : DEFAULT;
}
