/** A sentence in a text: from the character at `start` up to, not including, the one at `end`. No white space at its ends. */
export interface SentenceSpan {
  start: number;
  end: number;
}

/** The segmenter has no list of abbreviations. After one of these a full stop seldom ends a sentence. */
const ABBREVIATIONS = new Set(
  (
    'dr mr mrs ms prof st mt ft gen sen rep gov capt cmdr lt col sgt maj rev hon pres supt messrs mme ' +
    'jan feb mar apr jun jul aug sept sep oct nov dec mon tue wed thu fri ' +
    'no nos fig figs eq eqs sec secs ch chap vol vols pp p ed eds al cf vs approx ca est dept univ ave blvd rd art ref refs'
  ).split(' '),
);

/** A line of so many characters was broken because the page was full, not because a thought ended. */
const WRAPPED_LINE_CHARACTERS = 60;

/** How much of the text before a break is looked at: an abbreviation or an initial is shorter. */
const LOOK_BACK_CHARACTERS = 12;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * The sentences of a text in order, by Unicode's rules (UAX 29), mended where these cut after an abbreviation, an initial or
 * a line that was only wrapped. Text in scripts without spaces is cut at its own full stops. An empty line always ends one.
 * It gives places, and looks at lines, for chunks and citations show a text as it is. What the bundled chat model may say is
 * cut by `engines/bundled/chat/sentences.ts`, which says how it differs.
 */
export function sentencesOf(text: string): SentenceSpan[] {
  const spans: SentenceSpan[] = [];
  let open: SentenceSpan | null = null;
  for (const { segment, index } of segmenter.segment(unwrapped(text))) {
    const start = index + segment.length - segment.trimStart().length;
    const end = index + segment.trimEnd().length;
    if (end <= start) continue;
    if (open !== null && goesOn(text, open.end, start)) {
      open.end = end;
      continue;
    }
    open = { start, end };
    spans.push(open);
  }
  return spans;
}

/** The text, as long as before, with a space for each line break that only wraps a line. */
function unwrapped(text: string): string {
  let lineStart = 0;
  return text.replace(/\r\n?|\n/g, (lineBreak, at: number) => {
    const length = at - lineStart;
    lineStart = at + lineBreak.length;
    const next = text.charAt(lineStart);
    const isWrap = /\p{Ll}/u.test(next) || (length >= WRAPPED_LINE_CHARACTERS && /[\p{L}\p{N}("“‘]/u.test(next));
    return isWrap ? ' '.repeat(lineBreak.length) : lineBreak;
  });
}

/** Whether what ends at `end` and what begins at `start` are one sentence after all. */
function goesOn(text: string, end: number, start: number): boolean {
  const between = text.slice(end, start);
  if (/\n\s*\n/.test(between)) return false;
  const before = text.slice(Math.max(0, end - LOOK_BACK_CHARACTERS), end);
  const last = /(?:^|[\s("'“‘[.])(\p{L}+)\.$/u.exec(before)?.[1];
  if (last !== undefined && !between.includes('\n')) {
    if (/^\p{Lu}$/u.test(last) || ABBREVIATIONS.has(last.toLowerCase())) return true;
  }
  return /^\p{Ll}/u.test(text.slice(start, start + 2)) && !between.includes('\n');
}
