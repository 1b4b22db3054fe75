import { type ChangeObject, diffLines, diffWords, diffWordsWithSpace } from 'diff';

/** A part of two texts: in both, or only in the one before or after. */
export type ComparedPart = Pick<ChangeObject<string>, 'value' | 'added' | 'removed'>;

/** Bound of the removed and added words or lines of a comparison, whose time grows with their square. */
const EDITS = { maxEditLength: 1_000 };

/**
 * Compares two texts by words, where only spaces and line breaks differ by them, too. Texts with too many changed words
 * are compared by lines, and those with too many changed lines as a whole.
 */
export function compareTexts(before: string, after: string): readonly ComparedPart[] {
  // Without a segmenter, words of other scripts than Latin are compared letter by letter.
  const intlSegmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
  const words = diffWords(before, after, { ...EDITS, intlSegmenter });
  const parts = hasChanges(words) || before === after ? words : diffWordsWithSpace(before, after, EDITS);
  return (
    parts ??
    diffLines(before, after, EDITS) ?? [
      { value: before, added: false, removed: true },
      { value: after, added: true, removed: false },
    ]
  );
}

const hasChanges = (parts: readonly ComparedPart[] | undefined): boolean =>
  parts === undefined || parts.some(({ added, removed }) => added || removed);
