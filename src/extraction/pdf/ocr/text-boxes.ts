import type { ExtractedText, TextBox } from '../../extracted-document.ts';
import { locateWords } from '../locate-passage.ts';
import { SENTENCE_END } from '../paragraphs.ts';
import type { Box } from '../pdfium.ts';
import type { Recognition } from './recognize-pages.ts';
import type { RecognizedWord } from './recognized-page.ts';

/** Maximum boxes of a page, 40 bytes each. A full newspaper page has 800 lines. */
const MAX_BOXES = 1_000;
/** Maximum height of a box, in heights of a word: the boxes of skewed lines are short instead of high. */
const MAX_GROWTH = 1.5;
/** Largest gap between words of a line, in heights of a word. */
const MAX_GAP = 2;

/** Returns the boxes of a text that OCR read: of each line, separated where sentences end. */
export function boxText({ text, blocks }: ExtractedText, pages: Recognition['pages']): TextBox[] {
  const boxes: TextBox[] = [];
  for (const [page, { pieces }] of [...pages].sort(([a], [b]) => a - b)) {
    const end = blocks.find((block) => (block.page ?? 0) > page)?.start ?? text.length;
    const start = blocks.find((block) => (block.page ?? 0) >= page)?.start ?? text.length;
    // The last block of the page before may continue on this one.
    const before = blocks.findLast((block) => (block.page ?? 0) < page)?.start ?? 0;
    const continued = { start: Math.max(before, boxes.at(-1)?.[1] ?? 0), end: start };
    const words = locateIn([{ start, end }, continued], text, pieces);
    boxes.push(...boxLines(words, { text, page, end }).slice(0, MAX_BOXES));
  }
  return boxes;
}

type LocatedWord = RecognizedWord & { at: number };

/** Returns the words with their offsets in ranges of a text, in text order. A word is in one range only. */
function locateIn(
  ranges: readonly { start: number; end: number }[],
  text: string,
  words: readonly RecognizedWord[],
): LocatedWord[] {
  let remaining = words;
  const located: LocatedWord[] = [];
  for (const { start, end } of ranges) {
    const offsets = locateWords(
      remaining.map((word) => word.text),
      text.slice(start, end),
    );
    located.push(
      ...remaining.map((word, i) => ({ ...word, at: start + (offsets[i] ?? 0) })).filter((_, i) => offsets[i] !== -1),
    );
    remaining = remaining.filter((_, i) => offsets[i] === -1);
  }
  return located.sort((a, b) => a.at - b.at);
}

function boxLines(
  words: readonly LocatedWord[],
  { text, page, end }: { text: string; page: number; end: number },
): TextBox[] {
  const lines: { box: Box; from: number; last: number; to: number }[] = [];
  for (const {
    box,
    at,
    text: { length },
  } of words) {
    const line = lines.at(-1);
    const joined = line === undefined ? null : joinBoxes(line.box, box);
    if (line === undefined || joined === null || SENTENCE_END.test(text.slice(line.last, at).trimEnd())) {
      lines.push({ box, from: at, last: at, to: Math.min(end, at + length) });
    } else Object.assign(line, { box: joined, last: at, to: Math.min(end, at + length) });
  }
  return lines.map(({ box, from, to }, index) => {
    const next = lines[index + 1]?.from ?? end;
    return [from, Math.max(from + 1, Math.min(to, next)), page, box.left, box.top, box.right, box.bottom];
  });
}

/** Joins the box of a line with that of its next word; null when the word is not on the line. */
function joinBoxes(line: Box, word: Box): Box | null {
  const height = Math.max(1, word.bottom - word.top);
  const joined = {
    left: Math.min(line.left, word.left),
    top: Math.min(line.top, word.top),
    right: Math.max(line.right, word.right),
    bottom: Math.max(line.bottom, word.bottom),
  };
  const isNear = word.left <= line.right + MAX_GAP * height && word.right >= line.left - MAX_GAP * height;
  return isNear && joined.bottom - joined.top <= MAX_GROWTH * height ? joined : null;
}
