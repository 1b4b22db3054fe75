import type { AnswerServices } from './conversation.ts';
import { BOLD_HEADING } from './sections.ts';

/** A part of a passage that can be quoted as an answer: a sentence, a list item, a table row, a line of code. */
export interface TextUnit {
  /** White space is collapsed. */
  text: string;
  /** The heading above it; empty for none. */
  heading: string;
}

/** Maximum characters of a unit. A longer one is split at a space. */
const MAX_UNIT_CHARACTERS = 600;
/** Characters that are segmented into sentences at a time. */
const MAX_SEGMENTED_CHARACTERS = 8_000;
/** Maximum characters of a heading without markup. */
const MAX_HEADING_CHARACTERS = 60;

/** Abbreviations that never end a sentence, which `splitSentences` does not know. */
const NEVER_LAST = /\b(?:e\.g|i\.e)\.$/;

const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/;
const ITEM = /^\s*(?:[-*+•‣]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+/;
/** A table row in Markdown or in extracted documents: cells between bars. */
const ROW = /^\s*\|.*\|\s*$|\S \| \S/;
const RULE = /^\s*(?:\|?[\s:|-]*-{3,}[\s:|-]*|[=_*-]{3,}\s*)$/;

/** Splits a text into units, in linear time. */
export function* splitUnits(
  text: string,
  splitSentences: AnswerServices['splitSentences'],
): Generator<TextUnit, void, undefined> {
  let heading = '';
  let prose: string[] = [];
  let isFenced = false;
  const flush = function* (): Generator<TextUnit, void, undefined> {
    for (const part of splitLongText(prose.join(' ').replace(/\s+/g, ' ').trim())) {
      let start = 0;
      for (const { end } of splitSentences(part)) {
        if (NEVER_LAST.test(part.slice(start, end)) && end < part.length) continue;
        yield* truncateUnits(part.slice(start, end), heading);
        start = end;
      }
    }
    prose = [];
  };
  const lines = text.split(/\r\n?|\n/);
  for (const [index, line] of lines.entries()) {
    const isFence = FENCE.test(line);
    const markedHeading = isFenced ? null : HEADING.exec(line);
    const isOwnUnit = isFenced || ROW.test(line);
    if (isFence || markedHeading !== null || isOwnUnit || line.trim() === '' || RULE.test(line)) {
      yield* flush();
      if (isFence) isFenced = !isFenced;
      else if (markedHeading !== null) heading = markedHeading[1] ?? '';
      else if (isOwnUnit && !RULE.test(line)) yield* truncateUnits(line, heading);
    } else if (isPlainHeading(lines, index)) {
      yield* flush();
      heading = line.trim().replace(/:$/, '');
    } else {
      const bold = (lines[index - 1] ?? '').trim() === '' ? BOLD_HEADING.exec(line) : null;
      if (ITEM.test(line) || bold !== null) yield* flush();
      if (bold !== null) heading = bold[2] ?? '';
      prose.push(line.slice(bold?.[0].length ?? 0).replace(ITEM, ''));
    }
  }
  yield* flush();
}

/** Whether a line without markup is a heading: short, alone, before a paragraph, and without a sentence end. */
function isPlainHeading(lines: readonly string[], index: number): boolean {
  const line = (lines[index] ?? '').trim();
  if (line.length > MAX_HEADING_CHARACTERS || /[.!?,;"”]$/.test(line) || ITEM.test(line)) return false;
  const isAlone = index === 0 || (lines[index - 1] ?? '').trim() === '';
  const next = (lines[index + 1] ?? '').trim();
  const below = next === '' ? (lines[index + 2] ?? '').trim() : next;
  const isAboveParagraph = /[.!?:]$/.test(below) || below.length > MAX_HEADING_CHARACTERS;
  const startsParagraph = next === '' || /^[\p{Lu}\p{N}"“]/u.test(next);
  return (
    isAlone && startsParagraph && isAboveParagraph && /^[\p{Lu}\p{N}]/u.test(line) && line.split(/\s+/).length <= 8
  );
}

/** Splits a long text at sentence ends or spaces, because segmentation is slow on long texts. */
function* splitLongText(text: string): Generator<string, void, undefined> {
  let from = 0;
  while (text.length - from > MAX_SEGMENTED_CHARACTERS) {
    const limit = from + MAX_SEGMENTED_CHARACTERS;
    const sentenceEnd = Math.max(text.lastIndexOf('. ', limit) + 1, text.lastIndexOf('? ', limit) + 1);
    const end = sentenceEnd > from ? sentenceEnd : text.lastIndexOf(' ', limit);
    const to = end > from ? end : limit;
    yield text.slice(from, to);
    from = to;
  }
  yield text.slice(from);
}

function* truncateUnits(text: string, heading: string): Generator<TextUnit, void, undefined> {
  let rest = text.replace(/\s+/g, ' ').trim();
  while (rest.length > MAX_UNIT_CHARACTERS) {
    const space = rest.lastIndexOf(' ', MAX_UNIT_CHARACTERS);
    const splitsPair = /[\ud800-\udbff]/.test(rest[MAX_UNIT_CHARACTERS - 1] ?? '');
    const end = space > 0 ? space : MAX_UNIT_CHARACTERS - (splitsPair ? 1 : 0);
    yield { text: rest.slice(0, end), heading };
    rest = rest.slice(end).trim();
  }
  if (/[\p{L}\p{N}]/u.test(rest)) yield { text: rest, heading };
}
