import { isTrainedStopWord, trainedStem } from '../english.ts';

/** A run of letters and digits with their marks. Apostrophes end a word. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** The distinct stems of a text in order, without stop words. */
export function extractTerms(text: string): string[] {
  const words = Array.from(text.matchAll(WORD), ([word]) =>
    word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase(),
  );
  return [...new Set(words.filter((word) => !isTrainedStopWord(word)).map(trainedStem))];
}
