import type { Passage } from './passage-formats.ts';

/** A part of a passage that answers a question as a whole: the text below one heading. */
export interface Section {
  /** The nearest heading above it, without markup; else the name of the document; empty for none. */
  heading: string;
  /** Whether `heading` is a heading of the text and not the name of the document. */
  isHeaded: boolean;
  /** Verbatim lines, with the markers of lists and tables, without the heading. */
  text: string;
  /** Index of the passage. */
  passage: number;
}

/**
 * Maximum UTF-8 bytes of a section that is quoted whole. An answer is in the prompt and in the completion, and a byte
 * is at most a token, so that any answer fits the context of 4,096 tokens.
 */
export const MAX_SECTION_BYTES = 1_400;
/**
 * UTF-8 bytes of the windows of a longer section, below a heading or without one: at least the minimum if its text goes
 * on, at most the maximum. They overlap, so that one of them has a sentence together with its neighbours.
 */
const WINDOW_BYTES = {
  headed: { min: 400, max: 700 },
  unheaded: { min: MAX_SECTION_BYTES, max: MAX_SECTION_BYTES },
} as const;
/** Minimum distance of the starts of windows. */
const WINDOW_STEP_BYTES = 100;
/** Between the document and the headings in the title of a passage. */
export const TITLE_SEPARATOR = ' > ';
/** Maximum characters of a heading. */
const MAX_HEADING_CHARACTERS = 120;

/** Before a paragraph, a list item or a table row. */
const PIECE_START = /(?<=\n[^\S\n]*\n)|(?<=\n)(?=[^\S\n]{0,20}(?:[-*+•]|\d{1,3}[.)])\s|[^\n|]{0,200}\|)/;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/;
/** A numbered heading of a document without markup, such as a PDF: `3.1 When the siren sounds`. */
const NUMBERED_HEADING = /^\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]+\p{Lu}[^.!?:;|]{1,60}$/u;
const UNDERLINE = /^\s{0,3}(?:={3,}|-{3,})\s*$/;
/** First line of a paragraph that is bold as a whole, or opens with a bold heading: `**Upgrade.** Stop the service.` */
export const BOLD_HEADING = /^(\*\*|__)(?=\S)([^*_\n]{1,80}?)[.:!]?\1[.:]?(?:\s*$|(?<=[.:!]\1|\1:)\s+(?=\S))/;

/** Splits passages into sections, in order. Headings without text are no sections. Takes linear time. */
export function splitSections(passages: readonly Passage[]): Section[] {
  return passages.flatMap(({ title = '', text }, passage) => {
    const path = title.split(TITLE_SEPARATOR);
    const sections = readSections(text, { heading: path.at(-1) ?? '', isHeaded: path.length > 1 });
    const [first, second] = sections;
    // Text before the heading that the title names is the end of the section before: chunks overlap.
    if (first !== undefined && path.length > 1 && first.heading === second?.heading) {
      Object.assign(first, { heading: path[0], isHeaded: false });
    }
    return sections.flatMap(splitLongSection).map((section) => ({ ...section, passage }));
  });
}

type HeadedText = Omit<Section, 'passage'>;
type Heading = Pick<Section, 'heading' | 'isHeaded'>;

function readSections(text: string, title: Heading): HeadedText[] {
  const sections: HeadedText[] = [];
  let heading = title;
  let body: string[] = [];
  /** The heading to return to at the end of a paragraph with a run-in heading. */
  let outer: Heading | null = null;
  let isFenced = false;
  const flush = (): void => {
    const own = trimLines(body.join('\n'));
    if (/[\p{L}\p{N}]/u.test(own)) sections.push({ ...heading, text: own });
    body = [];
  };
  const open = (next: Heading | string): void => {
    flush();
    const isMarked = typeof next === 'string';
    heading = isMarked ? { heading: next.trim().slice(0, MAX_HEADING_CHARACTERS), isHeaded: true } : next;
  };
  const lines = text.split(/\r\n?|\n/);
  for (const [index, line] of lines.entries()) {
    if (FENCE.test(line)) isFenced = !isFenced;
    const isParagraphStart = !isFenced && (lines[index - 1] ?? '').trim() === '';
    const marked = isFenced ? null : (HEADING.exec(line) ?? numberedHeading(lines, index));
    const bold = isParagraphStart ? BOLD_HEADING.exec(line) : null;
    if (outer !== null && line.trim() === '' && !isFenced && !continuesList(lines[index + 1] ?? '')) {
      open(outer);
      outer = null;
    }
    if (marked !== null) {
      open(marked[1] ?? '');
      outer = null;
    } else if (!isFenced && UNDERLINE.test(line) && body.length > 0 && (lines[index - 2] ?? '').trim() === '') {
      const underlined = body.pop() ?? '';
      open(underlined);
      outer = null;
    } else if (bold !== null) {
      const rest = line.slice(bold[0].length);
      const parent: Heading = outer ?? heading;
      open(bold[2] ?? '');
      outer = rest === '' ? null : parent;
      if (rest !== '') body.push(rest);
    } else body.push(line);
  }
  flush();
  return sections;
}

/** A numbered heading that stands alone, before a text that is no other item of a list; null for other lines. */
function numberedHeading(lines: readonly string[], index: number): [string, string] | null {
  const line = (lines[index] ?? '').trim();
  const isAlone = (lines[index - 1] ?? '').trim() === '' && (lines[index + 1] ?? '').trim() === '';
  const below = (lines[index + 2] ?? '').trim();
  if (!isAlone || below === '' || continuesList(below) || !NUMBERED_HEADING.test(line)) return null;
  return [line, line];
}

/** Whether a line belongs to a list or is indented below one. */
function continuesList(line: string): boolean {
  return /^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S|^\s{2,}\S/.test(line);
}

/** The windows of a section above the maximum. They start at paragraphs, list items and table rows. */
function splitLongSection({ text, ...heading }: HeadedText): HeadedText[] {
  if (Buffer.byteLength(text) <= MAX_SECTION_BYTES) return [{ ...heading, text }];
  const { min, max } = WINDOW_BYTES[heading.isHeaded ? 'headed' : 'unheaded'];
  const pieces = splitPieces(text, max);
  const sizes = pieces.map((piece) => Buffer.byteLength(piece));
  const windows: HeadedText[] = [];
  let distance = WINDOW_STEP_BYTES;
  for (const [start, ownSize] of sizes.entries()) {
    if (distance >= WINDOW_STEP_BYTES) {
      distance = 0;
      let end = start + 1;
      let size = ownSize;
      while (end < pieces.length && size < min && size + (sizes[end] ?? 0) <= max) {
        size += sizes[end] ?? 0;
        end++;
      }
      const window = trimLines(pieces.slice(start, end).join(''));
      if (window !== '') windows.push({ ...heading, text: window });
      if (end === pieces.length) break;
    }
    distance += ownSize;
  }
  return windows;
}

/** Splits a text between paragraphs, items and rows; a larger one between lines, words or characters. */
function splitPieces(text: string, maxBytes: number): string[] {
  const pieces: string[] = [];
  let isFenced = false;
  for (const piece of text.split(PIECE_START)) {
    const fences = piece.split('\n').filter((line) => FENCE.test(line)).length;
    const last = pieces.at(-1) ?? '';
    // Code stays in one piece, so that a window does not begin within it.
    if (isFenced && Buffer.byteLength(last) + Buffer.byteLength(piece) <= maxBytes) {
      pieces[pieces.length - 1] = last + piece;
    } else pieces.push(piece);
    if (fences % 2 === 1) isFenced = !isFenced;
  }
  return pieces.flatMap((piece) => [...splitLongPiece(piece, maxBytes)]);
}

/** Splits a piece into the largest parts that fit into a window: the piece, lines, sentences, words, characters. */
function* splitLongPiece(
  piece: string,
  maxBytes: number,
  separators: readonly RegExp[] = [/(?<=\n)/, /(?<=[.!?]\s)(?=\p{Lu})/u, /(?<=\s)/, /(?=[\s\S])/u],
): Generator<string, void, undefined> {
  const [separator, ...others] = separators;
  if (separator === undefined || Buffer.byteLength(piece) <= maxBytes) yield piece;
  else for (const part of piece.split(separator)) yield* splitLongPiece(part, maxBytes, others);
}

/** Removes empty lines at the beginning and white space at the end. Indentation stays. */
function trimLines(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd();
}
