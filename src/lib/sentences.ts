/** A sentence: the characters `start` (inclusive) to `end` (exclusive) of a text, without surrounding white space. */
export interface SentenceSpan {
  start: number;
  end: number;
}

/** Abbreviations, after which a full stop seldom ends a sentence. `Intl.Segmenter` has no such list. */
const ABBREVIATIONS = new Set(
  (
    'dr mr mrs ms prof st mt ft gen sen rep gov capt cmdr lt col sgt maj rev hon pres supt messrs mme ' +
    'jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri ' +
    'no nos fig figs eq eqs sec secs ch chap vol vols pp p ed eds al cf vs approx ca est dept univ ave blvd rd art ref refs'
  ).split(' '),
);

/** Minimum length of a line that was wrapped at the page width. */
const WRAPPED_LINE_CHARACTERS = 60;

/** Characters before a sentence end in which an abbreviation or initial is searched. */
const LOOK_BACK_CHARACTERS = 12;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Splits a text into sentences by UAX 29, corrected after abbreviations, initials and wrapped lines. Scripts without
 * spaces end sentences at their own full stops. An empty line always ends a sentence. Returns offsets, because chunks
 * and citations show the text unchanged. `packages/bundled-models/src/chat/text-units.ts` merges them after "e.g." and
 * "i.e.".
 */
export function splitSentences(text: string): SentenceSpan[] {
  const spans: SentenceSpan[] = [];
  let current: SentenceSpan | null = null;
  for (const { segment, index } of segmenter.segment(unwrapLines(text))) {
    const start = index + segment.length - segment.trimStart().length;
    const end = index + segment.trimEnd().length;
    if (end <= start) continue;
    if (current !== null && continues(text, current.end, start)) {
      current.end = end;
      continue;
    }
    current = { start, end };
    spans.push(current);
  }
  return spans;
}

/** Replaces line breaks of wrapped lines by spaces; keeps the length. */
function unwrapLines(text: string): string {
  let lineStart = 0;
  return text.replace(/\r\n?|\n/g, (lineBreak, at: number) => {
    const length = at - lineStart;
    lineStart = at + lineBreak.length;
    const next = text.charAt(lineStart);
    const isWrap = /\p{Ll}/u.test(next) || (length >= WRAPPED_LINE_CHARACTERS && /[\p{L}\p{N}("“‘]/u.test(next));
    return isWrap ? ' '.repeat(lineBreak.length) : lineBreak;
  });
}

/** Whether the segments that end at `end` and begin at `start` are one sentence. */
function continues(text: string, end: number, start: number): boolean {
  const between = text.slice(end, start);
  if (/\n\s*\n/.test(between)) return false;
  const before = text.slice(Math.max(0, end - LOOK_BACK_CHARACTERS), end);
  const last = /(?:^|[\s("'“‘[.])(\p{L}+)\.$/u.exec(before)?.[1];
  if (last !== undefined && !between.includes('\n')) {
    if (/^\p{Lu}$/u.test(last) || ABBREVIATIONS.has(last.toLowerCase())) return true;
  }
  return /^\p{Ll}/u.test(text.slice(start, start + 2)) && !between.includes('\n');
}
