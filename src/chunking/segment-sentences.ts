import { type SentenceSpan, splitSentences } from '../lib/sentences.ts';
import type { CooperativeSteps } from './cooperative.ts';

/** Characters per cooperative step, about forty sentences. */
const PIECE_CHARACTERS = 4096;

/**
 * Cooperative version of `splitSentences`: splits a text piece by piece. The last sentence of a piece, which may be
 * incomplete, is split again with the next piece; one longer than a piece is continued.
 */
export function* segmentSentences(text: string): CooperativeSteps<SentenceSpan[]> {
  const spans: SentenceSpan[] = [];
  let isOpen = false;
  for (let from = 0; from < text.length; ) {
    yield;
    const to = from + PIECE_CHARACTERS;
    const sentences = splitSentences(text.slice(from, to));
    const isCut = to < text.length && sentences.length > 1;
    const next = isCut ? from + (sentences.pop()?.start ?? 0) : to;
    for (const [i, { start, end }] of sentences.entries()) {
      const open = isOpen && i === 0 ? spans.at(-1) : undefined;
      if (open !== undefined) open.end = from + end;
      else spans.push({ start: from + start, end: from + end });
    }
    isOpen = !isCut;
    from = next;
  }
  return spans;
}
