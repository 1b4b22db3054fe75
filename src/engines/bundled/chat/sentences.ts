/** A piece of a passage that can be said as an answer: a sentence, an item of a list, a row of a table, a line of code. */
export interface Unit {
  /** In the passage's own letters; white space within is one space. */
  text: string;
  /** The headings above it, joined. */
  heading: string;
}

/** Characters of a unit at most: a longer one would be no answer, and is cut at a word. */
const MAX_UNIT_CHARACTERS = 600;
/** Characters of running text that are segmented at once. */
const MAX_PIECE_CHARACTERS = 8_000;
/** Letters of a line at most that counts as a heading where it has no sign of one. */
const MAX_HEADING_CHARACTERS = 60;

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });
/** What a text may end with that ends no sentence: titles, months, initials and the like. */
const ABBREVIATION =
  /(?:^|[\s("'“‘[])(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Lt|Sgt|Capt|Rev|Hon|Gov|Sen|Rep|Pres|Ave|Blvd|Rd|Mt|Ft|No|Nos|Vol|Fig|Figs|Eq|Sec|Ch|pp|p|ed|eds|vs|v|cf|al|etc|approx|ca|c|b|d|est|dept|inc|ltd|co|corp|bros|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|i\.e|e\.g|a\.m|p\.m|U\.S|U\.K)\.["'”’)]*$/i;
/** The beginning of a sentence, as opposed to what follows an abbreviation within one. */
const BEGINS_SENTENCE =
  /^["'“‘([]*(?:The|This|That|These|Those|It|He|She|They|We|In|On|At|A|An|But|And|However|For|After|Before|When|While|As)\b/;

const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/;
const ITEM = /^\s*(?:[-*+•‣]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+/;
/** A row of a table, as Markdown writes it or as documents are read: cells between bars. */
const ROW = /^\s*\|.*\|\s*$|\S \| \S/;
const RULE = /^\s*(?:\|?[\s:|-]*-{3,}[\s:|-]*|[=_*-]{3,}\s*)$/;

/** The units of a text, in order. Pure; its time grows with the text's length alone. */
export function* unitsOf(text: string): Generator<Unit, void, undefined> {
  let heading = '';
  let prose: string[] = [];
  let fenced = false;
  const flush = function* (): Generator<Unit, void, undefined> {
    for (const piece of piecesOf(prose.join(' '))) {
      for (const sentence of sentencesOf(piece)) yield* cut(sentence, heading);
    }
    prose = [];
  };
  const lines = text.split(/\r\n?|\n/);
  for (const [index, line] of lines.entries()) {
    if (FENCE.test(line)) {
      yield* flush();
      fenced = !fenced;
      continue;
    }
    const titled = fenced ? null : HEADING.exec(line);
    const isApart = fenced || ROW.test(line);
    if (titled !== null || isApart || line.trim() === '' || RULE.test(line)) {
      yield* flush();
      if (titled !== null) heading = titled[1] ?? '';
      else if (isApart && !RULE.test(line)) yield* cut(line, heading);
    } else if (isBareHeading(lines, index)) {
      yield* flush();
      heading = line.trim().replace(/:$/, '');
    } else if (ITEM.test(line)) {
      yield* flush();
      prose.push(line.replace(ITEM, ''));
    } else prose.push(line);
  }
  yield* flush();
}

/** A short line alone before a paragraph, without the end of a sentence. */
function isBareHeading(lines: readonly string[], index: number): boolean {
  const line = (lines[index] ?? '').trim();
  if (line.length > MAX_HEADING_CHARACTERS || /[.!?,;"”]$/.test(line) || ITEM.test(line)) return false;
  const alone = index === 0 || (lines[index - 1] ?? '').trim() === '';
  const next = (lines[index + 1] ?? '').trim();
  const below = next === '' ? (lines[index + 2] ?? '').trim() : next;
  const leads = /[.!?:]$/.test(below) || below.length > MAX_HEADING_CHARACTERS;
  const begins = next === '' || /^[\p{Lu}\p{N}"“]/u.test(next);
  return alone && begins && leads && /^[\p{Lu}\p{N}]/u.test(line) && line.split(/\s+/).length <= 8;
}

/** A long text in parts that end with a sentence where they can, so that no part takes long to segment. */
function* piecesOf(text: string): Generator<string, void, undefined> {
  let from = 0;
  while (text.length - from > MAX_PIECE_CHARACTERS) {
    const most = from + MAX_PIECE_CHARACTERS;
    const end = Math.max(text.lastIndexOf('. ', most) + 1, text.lastIndexOf('? ', most) + 1);
    const space = end > from ? end : text.lastIndexOf(' ', most);
    const to = space > from ? space : most;
    yield text.slice(from, to);
    from = to;
  }
  yield text.slice(from);
}

/**
 * The sentences of running text; white space within them is one space. Not those of `lib/sentences.ts`, after which the chunks
 * are cut: a piece that is said as an answer must be neither a part of a sentence ("Acme Co. Ltd. makes bolts.") nor two
 * ("He lives in the U.S. She came later."). One for both would change the answers or the chunks that were evaluated.
 */
export function sentencesOf(text: string): string[] {
  const found: string[] = [];
  let open = '';
  for (const { segment } of SEGMENTER.segment(text.replace(/\s+/g, ' ').trim())) {
    const goesOn =
      open !== '' &&
      (/^[\p{Ll}\d,;)]/u.test(segment) || (ABBREVIATION.test(open.trimEnd()) && !BEGINS_SENTENCE.test(segment)));
    if (open !== '' && !goesOn) {
      found.push(open.trim());
      open = '';
    }
    open += segment;
  }
  if (open.trim() !== '') found.push(open.trim());
  return found;
}

function* cut(text: string, heading: string): Generator<Unit, void, undefined> {
  let rest = text.replace(/\s+/g, ' ').trim();
  while (rest.length > MAX_UNIT_CHARACTERS) {
    const space = rest.lastIndexOf(' ', MAX_UNIT_CHARACTERS);
    // Never within a character: half a surrogate pair is none.
    const end =
      space > 0 ? space : MAX_UNIT_CHARACTERS - (/[\ud800-\udbff]/.test(rest[MAX_UNIT_CHARACTERS - 1] ?? '') ? 1 : 0);
    yield { text: rest.slice(0, end), heading };
    rest = rest.slice(end).trim();
  }
  if (/[\p{L}\p{N}]/u.test(rest)) yield { text: rest, heading };
}
