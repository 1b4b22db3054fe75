import type { BlockKind } from '../extracted-document.ts';
import { collectCompounds, joinLines } from './hyphenation.ts';
import type { TextLine } from './page-text.ts';
import { TableBlocks } from './table-blocks.ts';

/** A block built from lines. */
export interface PdfBlock {
  kind: BlockKind;
  text: string;
  level?: number;
  page: number;
}

/** Relative difference below which font sizes are equal. */
const SAME_SIZE = 0.12;
/** Gap between paragraphs, as a multiple of the usual line pitch. */
const PARAGRAPH_GAP = 1.35;
/** Minimum font size of headings, as a multiple of that of the body. */
const HEADING_SIZE = 1.15;
/** The same for a single line of at most `HEADING_LINE_CHARACTERS`. */
const HEADING_LINE_SIZE = 1.07;
const HEADING_LINE_CHARACTERS = 80;
/** Maximum characters and lines of a heading. */
const HEADING = { characters: 200, lines: 4 };
/** Minimum indentation of a paragraph's first line, in font sizes. */
const INDENT = 0.8;
/** A line that fills less of its column's width was not wrapped. */
const MIN_WRAPPED_FILL = 0.8;
const LIST_MARK = /^(?:[•‣▪●○◦∙·–—*]|-(?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))\s*/;
/** Numbered headings in the body's font size: `2.1 Title`, `IV. TITLE`. */
const NUMBERED = /^(?:(\d{1,2}(?:\.\d{1,2}){1,3})\.?\s+\p{Lu}|(?:[IVX]{1,5}|\d{1,2})\.\s+(?=\P{Ll}*$).*\p{Lu}{3})/u;
/** The end of a sentence at the end of a text. */
export const SENTENCE_END = /[.!?:;。！？]["'”’»)\]]*$/;

/**
 * Builds headings, paragraphs, list items and tables from a document's lines in reading order. Blocks of a table have
 * about `tableCharacters`, each with the header.
 */
export function buildBlocks(lines: readonly TextLine[], tableCharacters: number): PdfBlock[] {
  const compounds = collectCompounds(lines.map(({ text }) => text));
  const pitch = medianPitch(lines);
  const groups: TextLine[][] = [];
  for (const line of lines) {
    const group = groups.at(-1);
    if (group === undefined || startsParagraph(group, line, pitch)) groups.push([line]);
    else group.push(line);
  }
  const levels = headingLevels(groups.filter(([first]) => first?.cells.length === 0));
  const tables = new TableBlocks(tableCharacters);
  return groups.flatMap((group) =>
    (group[0]?.cells.length ?? 0) > 0 ? tables.build(group) : [buildBlock(group, levels, compounds)],
  );
}

function buildBlock(
  lines: readonly TextLine[],
  levels: ReadonlyMap<number, number>,
  compounds: ReadonlySet<string>,
): PdfBlock {
  const page = lines[0]?.page ?? 1;
  const text = joinLines(
    lines.map((line) => line.text),
    compounds,
  );
  const level = mayBeHeading(lines) ? levels.get(roundSize(lines[0]?.size ?? 0)) : undefined;
  if (level !== undefined) return { kind: 'heading', text, level, page };
  const numbered = lines.length <= 2 && isShort(lines) && !/[.;,:]$/.test(text) ? NUMBERED.exec(text) : null;
  if (numbered !== null) return { kind: 'heading', text, level: numbered[1]?.split('.').length ?? 1, page };
  return { kind: LIST_MARK.test(text) ? 'list-item' : 'paragraph', text, page };
}

function startsParagraph(group: readonly TextLine[], line: TextLine, pitch: number): boolean {
  const [first] = group;
  const previous = group.at(-1);
  if (previous === undefined || first === undefined) return true;
  if (first.cells.length > 0 || line.cells.length > 0)
    return first.cells.length !== line.cells.length || previous.page !== line.page || previous.column !== line.column;
  if (!isSameSize(previous.size, line.size) || LIST_MARK.test(line.text)) return true;
  if (previous.page !== line.page || previous.column !== line.column) return !continues(previous, line);
  const down = line.y - previous.y;
  if (down <= 0 || down > PARAGRAPH_GAP * pitch * line.size) return true;
  const isEnd = SENTENCE_END.test(previous.text);
  const isFull = fillsColumn(previous);
  if (group.length === 1 && !isFull && NUMBERED.test(previous.text)) return true;
  if (isEnd && !fillsColumn(line) && NUMBERED.test(line.text)) return true;
  if (isEnd && !isFull) return true;
  const isIndented = line.x0 - previous.x0 > INDENT * line.size && !LIST_MARK.test(first.text);
  return isIndented && (isEnd || !isFull);
}

function fillsColumn({ x1, left, right }: TextLine): boolean {
  return x1 - left >= MIN_WRAPPED_FILL * (right - left);
}

/** Whether a paragraph continues in the next column or on the next page. */
function continues(previous: TextLine, line: TextLine): boolean {
  return !SENTENCE_END.test(previous.text) && (/^\p{Ll}/u.test(line.text) || /\p{L}-$/u.test(previous.text));
}

function isSameSize(a: number, b: number): boolean {
  return Math.abs(a - b) <= SAME_SIZE * Math.max(a, b);
}

/** Median distance between baselines, in font sizes. */
function medianPitch(lines: readonly TextLine[]): number {
  const pitches: number[] = [];
  for (const [i, line] of lines.entries()) {
    const previous = lines[i - 1];
    if (previous === undefined || previous.page !== line.page || previous.column !== line.column) continue;
    const pitch = (line.y - previous.y) / line.size;
    if (pitch > 0.5 && pitch < 4) pitches.push(pitch);
  }
  pitches.sort((a, b) => a - b);
  return pitches[Math.floor(pitches.length / 2)] ?? 1.2;
}

/** Rounds a font size to half points. */
function roundSize(size: number): number {
  return Math.round(size * 2) / 2;
}

function isShort(lines: readonly TextLine[]): boolean {
  const characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  return (
    lines.length <= HEADING.lines &&
    characters <= HEADING.characters &&
    lines.some(({ text }) => /\p{L}{2}/u.test(text))
  );
}

function mayBeHeading(lines: readonly TextLine[]): boolean {
  return isShort(lines) && lines.every(({ isRotated }) => !isRotated);
}

/** Whether a group is one short line without final punctuation, which is a heading at a smaller size difference. */
function isHeadingLine(lines: readonly TextLine[]): boolean {
  const [only] = lines;
  return (
    lines.length === 1 &&
    only !== undefined &&
    only.text.length <= HEADING_LINE_CHARACTERS &&
    !/[.,;:]$/.test(only.text)
  );
}

/** Heading levels by font size: every size clearly larger than that of the body, the largest first. */
function headingLevels(groups: readonly (readonly TextLine[])[]): ReadonlyMap<number, number> {
  const letters = new Map<number, number>();
  for (const { size, text } of groups.flat()) {
    letters.set(roundSize(size), (letters.get(roundSize(size)) ?? 0) + text.length);
  }
  const body = [...letters].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0];
  const larger = new Set<number>();
  for (const lines of groups.filter(mayBeHeading)) {
    const size = roundSize(lines[0]?.size ?? 0);
    if (size >= (isHeadingLine(lines) ? HEADING_LINE_SIZE : HEADING_SIZE) * body) larger.add(size);
  }
  return new Map([...larger].sort((a, b) => b - a).map((size, rank) => [size, Math.min(rank + 1, 6)]));
}
