import type { BlockKind } from '../extracted-text.ts';
import { tableLine } from '../text-writer.ts';
import { compoundsOf, joinLines } from './hyphenation.ts';
import type { TextLine } from './page-text.ts';

/** A part of a document made of lines. */
export interface PdfPart {
  kind: BlockKind;
  text: string;
  level?: number;
  page: number;
}

/** Sizes of letters that differ by less are the same. */
const SAME_SIZE = 0.12;
/** A gap between lines that is so many times the usual one parts paragraphs. */
const WIDE_GAP = 1.35;
/** Letters that are so many times as large as most of the document's are those of headings. */
const HEADING_SIZE = 1.15;
/** The same of a line by itself, of at most so many characters. */
const LINE_SIZE = 1.07;
const LINE_CHARACTERS = 80;
/** Characters and lines that a heading has at most. */
const HEADING = { characters: 200, lines: 4 };
/** Rows from which on lines with cells are a table, by the number of cells. */
const TABLE_ROWS = { ofThree: 2, ofTwo: 4 };
/** An indentation, in sizes of letters. */
const INDENT = 0.8;
/** A line that ends before this part of its column's width was not broken because it was full. */
const SHORT = 0.8;
const LIST_MARK = /^(?:[•‣▪●○◦∙·–—*]|-(?=\s)|\(?(?:\d{1,3}|[a-zA-Z])[.)](?=\s))\s*/;
/** `2.1 Title`, `IV. TITLE`: a heading in letters of the text's size. */
const NUMBERED = /^(?:(\d{1,2}(?:\.\d{1,2}){1,3})\.?\s+\p{Lu}|(?:[IVX]{1,5}|\d{1,2})\.\s+(?=\P{Ll}*$).*\p{Lu}{3})/u;
const ENDS = /[.!?:;。！？]["'”’»)\]]*$/;

/** The lines of a document, in the order of reading, as headings, paragraphs, items of lists and tables. */
export function partsOf(lines: readonly TextLine[]): PdfPart[] {
  const compounds = compoundsOf(lines.map(({ text }) => text));
  const pitch = usualPitch(lines);
  const groups: { lines: TextLine[]; isTable: boolean }[] = [];
  for (const { rows, isTable } of tablesIn(lines)) {
    if (isTable) {
      groups.push({ lines: rows, isTable });
      continue;
    }
    for (const line of rows) {
      const group = groups.at(-1);
      if (group === undefined || group.isTable || isBreak(group.lines, line, pitch))
        groups.push({ lines: [line], isTable });
      else group.lines.push(line);
    }
  }
  const levels = headingLevels(groups.filter(({ isTable }) => !isTable).map((group) => group.lines));
  return groups.map((group) => partOf(group, levels, compounds));
}

function partOf(
  { lines, isTable }: { lines: TextLine[]; isTable: boolean },
  levels: ReadonlyMap<number, number>,
  compounds: ReadonlySet<string>,
): PdfPart {
  const page = lines[0]?.page ?? 1;
  if (isTable) return { kind: 'table', text: lines.map(({ cells }) => tableLine(cells)).join('\n'), page };
  const text = joinLines(
    lines.map((line) => line.text),
    compounds,
  );
  const level = mayBeHeading(lines) ? levels.get(sizeClass(lines[0]?.size ?? 0)) : undefined;
  if (level !== undefined) return { kind: 'heading', text, level, page };
  const numbered = lines.length <= 2 && isShort(lines) && !/[.;,:]$/.test(text) ? NUMBERED.exec(text) : null;
  if (numbered !== null) return { kind: 'heading', text, level: numbered[1]?.split('.').length ?? 1, page };
  return { kind: LIST_MARK.test(text) ? 'list-item' : 'paragraph', text, page };
}

/** Lines in turns of those that are rows of a table and those that are not. */
function tablesIn(lines: readonly TextLine[]): { rows: TextLine[]; isTable: boolean }[] {
  const runs: { rows: TextLine[]; isTable: boolean }[] = [];
  for (const line of lines) {
    const run = runs.at(-1);
    // What has a mark in front of it is an item: the mark is no cell.
    const hasCells = line.cells.length > 2 || (line.cells.length === 2 && !LIST_MARK.test(`${line.cells[0]} `));
    const isSame = run?.isTable === hasCells && run.rows[0]?.page === line.page && run.rows[0]?.column === line.column;
    if (run !== undefined && (hasCells ? isSame : !run.isTable)) run.rows.push(line);
    else runs.push({ rows: [line], isTable: hasCells });
  }
  return runs.map(({ rows, isTable }) => {
    const ofThree = rows.filter(({ cells }) => cells.length > 2).length;
    return { rows, isTable: isTable && (ofThree >= TABLE_ROWS.ofThree || rows.length >= TABLE_ROWS.ofTwo) };
  });
}

/** Whether a paragraph ends before the line. */
function isBreak(group: readonly TextLine[], line: TextLine, pitch: number): boolean {
  const [first] = group;
  const previous = group.at(-1);
  if (previous === undefined || first === undefined) return true;
  if (!isSameSize(previous.size, line.size) || LIST_MARK.test(line.text)) return true;
  if (previous.page !== line.page || previous.column !== line.column) return !goesOn(previous, line);
  const down = line.y - previous.y;
  if (down <= 0 || down > WIDE_GAP * pitch * line.size) return true;
  const isEnd = ENDS.test(previous.text);
  const isFull = fillsColumn(previous);
  if (group.length === 1 && !isFull && NUMBERED.test(previous.text)) return true;
  if (isEnd && !fillsColumn(line) && NUMBERED.test(line.text)) return true;
  if (isEnd && !isFull) return true;
  const isIndented = line.x0 - previous.x0 > INDENT * line.size && !LIST_MARK.test(first.text);
  return isIndented && (isEnd || !isFull);
}

function fillsColumn({ x1, left, right }: TextLine): boolean {
  return x1 - left >= SHORT * (right - left);
}

/** Whether a paragraph goes on in the next column or on the next page. */
function goesOn(previous: TextLine, line: TextLine): boolean {
  return !ENDS.test(previous.text) && (/^\p{Ll}/u.test(line.text) || /\p{L}-$/u.test(previous.text));
}

function isSameSize(a: number, b: number): boolean {
  return Math.abs(a - b) <= SAME_SIZE * Math.max(a, b);
}

/** How far lines stand below each other, in sizes of letters: the median. */
function usualPitch(lines: readonly TextLine[]): number {
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

/** Sizes to half a point. */
function sizeClass(size: number): number {
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
  return isShort(lines) && lines.every(({ isTurned }) => !isTurned);
}

/** A line by itself that does not end as a sentence does: a little larger is enough for it to be a heading. */
function isLine(lines: readonly TextLine[]): boolean {
  const [only] = lines;
  return lines.length === 1 && only !== undefined && only.text.length <= LINE_CHARACTERS && !/[.,;:]$/.test(only.text);
}

/** The level of each size that is clearly larger than that of most of the text, the largest first. */
function headingLevels(groups: readonly (readonly TextLine[])[]): ReadonlyMap<number, number> {
  const letters = new Map<number, number>();
  for (const { size, text } of groups.flat()) {
    letters.set(sizeClass(size), (letters.get(sizeClass(size)) ?? 0) + text.length);
  }
  const body = [...letters].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0];
  const larger = new Set<number>();
  for (const lines of groups.filter(mayBeHeading)) {
    const size = sizeClass(lines[0]?.size ?? 0);
    if (size >= (isLine(lines) ? LINE_SIZE : HEADING_SIZE) * body) larger.add(size);
  }
  return new Map([...larger].sort((a, b) => b - a).map((size, rank) => [size, Math.min(rank + 1, 6)]));
}
