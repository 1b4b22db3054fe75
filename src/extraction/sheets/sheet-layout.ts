import type { CellRange } from '../../lib/cell-range.ts';
import type { Extraction } from '../extracted-document.ts';
import { checkTextLength } from '../text-writer.ts';
import { HEADER_ROWS, isHeader, NUMBER, SheetDocuments, type SheetRow } from './sheet-documents.ts';

/** Maximum rows of a header. */
const MAX_HEADER_ROWS = 5;
/** Maximum characters of a line above a table that becomes its heading. */
const MAX_TITLE_CHARACTERS = 150;

/** A sheet of a workbook. */
export interface Sheet {
  name: string;
  /** Ascending, with cells from the first column; rows without text may be absent. */
  rows: readonly SheetRow[];
  merges: readonly CellRange[];
}

/** A rectangle of a sheet without empty rows. */
interface Region {
  column: number;
  rows: readonly SheetRow[];
}

type MergesByRow = ReadonlyMap<number, readonly CellRange[]>;

/**
 * Returns the documents of a sheet. Empty rows separate tables, and so do empty columns between tables of different
 * height. A single line above a table is its heading; a header of several rows is joined to one; a table without a
 * header that has the columns of the table above continues it. Vertically merged cells repeat their text in each row.
 */
export function readSheet({ name, rows, merges }: Sheet, groupCharacters: number): Extraction[] {
  const documents = new SheetDocuments(groupCharacters, name);
  const mergesByRow = Map.groupBy(merges, ({ row }) => row);
  const regions = splitRegions({ column: 0, rows: repeatMergedDown(rows, merges) });
  let header: { column: number; width: number } | null = null;
  const extractions: Extraction[] = [];
  for (const [i, region] of regions.entries()) {
    const { titles, body } = splitTitles(region, regions[i + 1], mergesByRow);
    for (const { text, ...place } of titles) extractions.push(...documents.addText(text, place));
    if (body.rows.length === 0) continue;
    const width = regionWidth(body);
    const table = joinHeader(body, mergesByRow);
    const hasHeader = table.header !== null || isHeader(table.rows.slice(0, HEADER_ROWS).map(({ cells }) => cells));
    const continues = !hasHeader && titles.length === 0 && header?.column === body.column && header.width === width;
    if (!continues) header = hasHeader ? { column: body.column, width } : null;
    extractions.push(...documents.addTable(continues ? body : table));
  }
  return [...extractions, ...documents.finish()];
}

function regionWidth({ rows }: Region): number {
  return rows.reduce((width, { cells }) => Math.max(width, cells.length), 0);
}

/** Repeats the text of vertically merged cells. Throws `too_large` when the merged cells are too many. */
function repeatMergedDown(rows: readonly SheetRow[], merges: readonly CellRange[]): SheetRow[] {
  const byNumber = new Map(rows.map(({ number, cells }) => [number, [...cells]]));
  const last = rows.at(-1)?.number ?? 0;
  let characters = 0;
  for (const { row, column, lastRow } of merges) {
    const text = byNumber.get(row)?.[column] ?? '';
    if (text === '') continue;
    for (let number = row + 1; number <= Math.min(lastRow, last); number++) {
      characters += text.length + 1;
      checkTextLength(characters);
      const cells = byNumber.get(number);
      if (cells === undefined) continue;
      while (cells.length < column) cells.push('');
      cells[column] ||= text;
    }
  }
  return [...byNumber].map(([number, cells]) => ({ number, cells }));
}

/** Splits a region at empty rows, and at empty columns where the parts begin or end in different rows. */
function splitRegions({ column, rows }: Region): Region[] {
  const groups: SheetRow[][] = [];
  let previous: SheetRow | undefined;
  for (const row of rows) {
    if (!hasText(row)) continue;
    if (previous?.number === row.number - 1) groups.at(-1)?.push(row);
    else groups.push([row]);
    previous = row;
  }
  return groups.flatMap((group) => {
    const spans = columnSpans(group);
    const parts = spans.map(([from, to]) => ({
      column: column + from,
      rows: group.map(({ number, cells }) => ({ number, cells: cells.slice(from, to) })).filter(hasText),
    }));
    const [first] = parts;
    const isSideBySide = parts.some(
      (part) =>
        part.rows[0]?.number !== first?.rows[0]?.number || part.rows.at(-1)?.number !== first?.rows.at(-1)?.number,
    );
    if (isSideBySide) return parts.flatMap(splitRegions);
    const [from, to] = [spans[0]?.[0] ?? 0, spans.at(-1)?.[1] ?? 0];
    return [
      { column: column + from, rows: group.map(({ number, cells }) => ({ number, cells: cells.slice(from, to) })) },
    ];
  });
}

function hasText({ cells }: SheetRow): boolean {
  return cells.some((cell) => cell !== '');
}

/** Runs of columns with text, at least two columns wide unless there is only one, as `[first, afterLast]`. */
function columnSpans(rows: readonly SheetRow[]): [number, number][] {
  const isUsed: boolean[] = [];
  for (const { cells } of rows) {
    for (const [column, cell] of cells.entries()) if (cell !== '') isUsed[column] = true;
  }
  const spans: [number, number][] = [];
  for (let column = 0; column < isUsed.length; column++) {
    const last = spans.at(-1);
    if (isUsed[column] !== true) continue;
    if (last !== undefined && last[1] === column) last[1] = column + 1;
    else spans.push([column, column + 1]);
  }
  const wide: [number, number][] = [];
  for (const span of spans) {
    const last = wide.at(-1);
    const isNarrow = span[1] - span[0] === 1 || (last !== undefined && last[1] - last[0] === 1);
    if (last !== undefined && isNarrow) last[1] = span[1];
    else wide.push(span);
  }
  return wide;
}

/** Splits off single cells above the table: headings, or lines of text when no table follows. */
function splitTitles(region: Region, next: Region | undefined, merges: MergesByRow) {
  const titles: { text: string; column: number; row: number; level?: number }[] = [];
  let { rows } = region;
  for (;;) {
    const [first, second, ...others] = rows;
    const filled = first?.cells.flatMap((cell, i) => (cell === '' ? [] : [i])) ?? [];
    const text = first?.cells[filled[0] ?? -1] ?? '';
    if (first === undefined || filled.length !== 1 || text.length > MAX_TITLE_CHARACTERS || NUMBER.test(text)) break;
    const column = region.column + (filled[0] ?? 0);
    const place = { text, column, row: first.number };
    if (second === undefined) {
      const isAboveTable = next !== undefined && next.rows.length > 1;
      titles.push({ ...place, ...(isAboveTable && { level: 1 }) });
      rows = [];
      break;
    }
    // A name above some of the columns belongs to the header.
    const isGroupName =
      column > region.column &&
      (merges.get(first.number) ?? []).some((merge) => merge.column === column && merge.lastColumn > column);
    const isWider = [second, ...others].some(({ cells }) => cells.filter((cell) => cell !== '').length > 1);
    if (isGroupName || !isWider) break;
    titles.push({ ...place, level: 2 });
    rows = rows.slice(1);
  }
  return { titles, body: { column: region.column, rows } };
}

/** Joins the rows of a header that merged cells show to one row. The header is null without such cells. */
function joinHeader({ column, rows }: Region, merges: MergesByRow): Region & { header: SheetRow | null } {
  const none = { column, rows, header: null };
  const [top] = rows;
  const width = regionWidth({ column, rows });
  if (top === undefined) return none;
  const mergesAt = (row: number) =>
    (merges.get(row) ?? []).filter((merge) => merge.column >= column && merge.column < column + width);
  const isWide = (merge: CellRange) => merge.lastColumn > merge.column;
  let last = top.number;
  if (mergesAt(top.number).some(isWide)) {
    for (let row = top.number; row <= last && row < top.number + MAX_HEADER_ROWS; row++) {
      for (const merge of mergesAt(row)) last = Math.max(last, isWide(merge) ? merge.lastRow + 1 : merge.lastRow);
    }
  } else {
    const heights = top.cells.flatMap((cell, i) => {
      const merge = mergesAt(top.number).find((one) => one.column === column + i);
      return cell === '' ? [] : [merge?.lastRow ?? top.number];
    });
    last = Math.min(...heights);
  }
  const headerRows = rows.filter(({ number }) => number <= last);
  if (last === top.number || headerRows.length === rows.length || headerRows.length > MAX_HEADER_ROWS) return none;
  const cells = Array.from({ length: width }, (_, i) => {
    const names = headerRows.map((row) => {
      const merge = mergesAt(row.number).find((one) => one.column <= column + i && one.lastColumn >= column + i);
      return row.cells[(merge?.column ?? column + i) - column] ?? '';
    });
    return names.filter((name, at) => name !== '' && names.indexOf(name) === at).join(' ');
  });
  const isNumber = (cell: string) => NUMBER.test(cell) && !/^(?:19|20)\d\d$/.test(cell);
  if (cells.some(isNumber)) return none;
  return { column, rows: rows.slice(headerRows.length), header: { number: top.number, cells } };
}
