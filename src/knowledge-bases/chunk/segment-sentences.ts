import { type SentenceSpan, sentencesOf } from '../../lib/sentences.ts';
import type { CooperativeSteps } from './cooperative.ts';

/** Characters that are looked at in one step: some forty sentences. */
const PIECE_CHARACTERS = 4096;

/**
 * The sentences of a text, as `sentencesOf` gives them, but piece by piece: the last sentence of a piece, which may be cut, is looked at
 * again with the next one. One that is longer than a piece goes on with the next.
 */
export function* segmentSentences(text: string): CooperativeSteps<SentenceSpan[]> {
  const spans: SentenceSpan[] = [];
  let isOpen = false;
  for (let from = 0; from < text.length; ) {
    yield;
    const to = from + PIECE_CHARACTERS;
    const found = sentencesOf(text.slice(from, to));
    const isCut = to < text.length && found.length > 1;
    const next = isCut ? from + (found.pop()?.start ?? 0) : to;
    for (const [i, { start, end }] of found.entries()) {
      const open = isOpen && i === 0 ? spans.at(-1) : undefined;
      if (open !== undefined) open.end = from + end;
      else spans.push({ start: from + start, end: from + end });
    }
    isOpen = !isCut;
    from = next;
  }
  return spans;
}
