import { isHeader } from '../../extraction/sheets/sheet-documents.ts';

/** A stored chunk with the fields that a citation needs. */
export interface TableChunk {
  id: string;
  text: string;
  startIndex: number;
  endIndex: number;
  /** Cells of a sheet, such as `Costs!A2:C9`; null for formats without cells. */
  cells: string | null;
  headingPath: readonly string[];
}

/** A row of a table. */
export interface TableRow<Chunk extends TableChunk> {
  cells: readonly string[];
  /** The chunk in which it begins. */
  chunk: Chunk;
  /** Row number of its sheet, from 1; null for other formats, and where empty rows leave it open. */
  number: number | null;
}

/** A table of a document. */
export interface StoredTable<Chunk extends TableChunk> {
  /** Names of the columns: the cells of the header, else `Column 1` and so on. */
  columns: readonly string[];
  rows: readonly TableRow<Chunk>[];
  /** A short line above it, such as its heading; empty without one. */
  title: string;
}

/** A line of a table, and whether a line without cells stands before it. */
interface Line<Chunk extends TableChunk> extends TableRow<Chunk> {
  text: string;
  isSeparate: boolean;
}

const ROW = /\S \| |^\| .*\S|\S \|$/;
/** The line below the header of a Markdown table. */
const RULE = /^\s*\|?[\s:|-]*-{3,}[\s:|-]*$/;
const FENCE = /^\s*(?:```|~~~)/;
const MAX_TITLE_CHARACTERS = 80;
/** Minimum rows besides the header. */
const MIN_ROWS = 2;

/** Reads the tables of a document from its chunks in text order. Blocks that repeat a header are one table. */
export function parseTables<Chunk extends TableChunk>(chunks: readonly Chunk[]): StoredTable<Chunk>[] {
  const tables: StoredTable<Chunk>[] = [];
  let table: Line<Chunk>[] = [];
  let above = '';
  const flush = (): void => {
    const built = buildTable(table);
    if (built !== null) tables.push({ ...built, title: above.length <= MAX_TITLE_CHARACTERS ? above : '' });
    table = [];
  };
  for (const line of readLines(chunks)) {
    const [first] = table;
    if (typeof line === 'string') {
      flush();
      above = line.replace(/^[\s#*_]+|[\s#*_:]+$/g, '');
    } else if (line.isSeparate && first !== undefined && !continues(table, line)) {
      flush();
      table.push(line);
    } else table.push(line);
  }
  flush();
  return tables;
}

/** Whether lines after an empty line belong to the same table: they repeat its header, or have none of their own. */
function continues<Chunk extends TableChunk>([first, ...rows]: readonly Line<Chunk>[], line: Line<Chunk>): boolean {
  if (line.text === first?.text) return true;
  return (
    line.cells.length === first?.cells.length && !isHeader([line.cells, ...rows.slice(0, 5).map((row) => row.cells)])
  );
}

/** Yields the lines of tables, and other lines as texts. */
function* readLines<Chunk extends TableChunk>(chunks: readonly Chunk[]): Generator<Line<Chunk> | string> {
  let isFenced = false;
  let isSeparate = true;
  for (const { text, chunk, number } of joinChunks(chunks)) {
    if (FENCE.test(text)) isFenced = !isFenced;
    if (text.trim() === '') isSeparate = true;
    else if (isFenced || !(ROW.test(text) || RULE.test(text))) yield text;
    else {
      yield { text: text.trim(), cells: splitCells(text, false), chunk, number, isSeparate };
      isSeparate = false;
    }
  }
}

/** Cells of a row: as extraction writes them, or as Markdown, with bars at both ends. */
function splitCells(text: string, isMarkdown: boolean): string[] {
  const inner = isMarkdown ? text.trim().replace(/^\||(?<!\\)\|$/g, '') : text.trim();
  if (!/[\\*`]/.test(inner)) return inner.split('|').map((cell) => cell.trim());
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').replace(/[*`]+/g, '').trim());
}

/** Lines of the document's text, each with the chunk in which it begins. Overlaps are read once. */
function joinChunks<Chunk extends TableChunk>(chunks: readonly Chunk[]) {
  const lines: { text: string; chunk: Chunk; number: number | null }[] = [];
  let end = 0;
  for (const chunk of chunks) {
    const fresh = chunk.text.slice(Math.max(0, end - chunk.startIndex)).split('\n');
    const numbers = rowNumbers(fresh, chunk.cells);
    const gap = chunk.startIndex - end;
    const last = lines.at(-1);
    // A chunk may begin within a row, if rows are longer than chunks.
    const width = (text: string): number => text.split('|').length;
    const splitsRow = last !== undefined && gap === 1 && width(last.text) < width(lines.at(-2)?.text ?? '');
    if (last !== undefined && (gap < 1 || splitsRow)) last.text += `${gap === 1 ? ' ' : ''}${fresh.shift() ?? ''}`;
    else if (gap > 1 && lines.length > 0) lines.push({ text: '', chunk, number: null });
    lines.push(
      ...fresh.map((text, i) => ({ text, chunk, number: numbers[numbers.length - fresh.length + i] ?? null })),
    );
    end = Math.max(end, chunk.endIndex);
  }
  return lines;
}

/**
 * Row numbers of the lines of a chunk without its overlap, if every row of its range has one line; null for headers
 * that blocks repeat.
 */
function rowNumbers(lines: readonly string[], cells: string | null): (number | null)[] {
  const [, from, to] = /(?:^|!)[A-Z]+(\d+)(?::[A-Z]+(\d+))?$/.exec(cells ?? '') ?? [];
  const [first, last] = [Number(from), Number(to ?? from)];
  const repeated = lines.filter((line) => line.trim() !== '').length - (last - first + 1);
  const starts = [...lines.keys()].filter((i) => lines[i]?.trim() !== '' && (lines[i - 1] ?? '').trim() === '');
  const header = lines[starts.at(-1) ?? 0];
  const headers = starts.filter((i) => lines[i] === header);
  if (repeated !== headers.length && repeated !== headers.length - 1) return lines.map(() => null);
  // The first header may be a row of the range.
  const unnumbered = new Set(headers.slice(headers.length - repeated));
  let row = first - 1;
  return lines.map((line, i) => {
    if (line.trim() === '' || unnumbered.has(i)) return null;
    row += 1;
    return row;
  });
}

function buildTable<Chunk extends TableChunk>(lines: readonly Line<Chunk>[]): Omit<StoredTable<Chunk>, 'title'> | null {
  const isRuled = lines[1] !== undefined && RULE.test(lines[1].text);
  const rows = lines
    .filter(({ text }) => !RULE.test(text))
    .map((line) => (isRuled ? { ...line, cells: splitCells(line.text, true) } : line));
  const [first] = rows;
  const repeats = rows.filter(({ text, isSeparate }) => isSeparate && text === first?.text).length > 1;
  const hasHeader = isRuled || repeats || isHeader(rows.slice(0, 20).map(({ cells }) => cells));
  const data = hasHeader ? rows.filter(({ text }) => text !== first?.text) : rows;
  const width = Math.max(0, ...rows.slice(0, 20).map(({ cells }) => cells.length));
  if (width < 2 || data.length < MIN_ROWS) return null;
  const names = Array.from({ length: width }, (_, i) => (hasHeader ? first?.cells[i] : '') || `Column ${i + 1}`);
  return { columns: names, rows: data.map(({ cells, chunk, number }) => ({ cells, chunk, number })) };
}
