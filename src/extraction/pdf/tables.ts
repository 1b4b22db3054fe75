import { NUMBER } from '../sheets/sheet-documents.ts';
import { joinLines } from './hyphenation.ts';
import type { Fragment, TextLine } from './page-text.ts';

/** Gap that separates fragments within a row, in font sizes: narrow columns are close to each other. */
export const CELL_GAP = 0.4;
/**
 * Minimum average distance between the cells on both sides of a gap, in font sizes, in runs of few and of many lines:
 * word gaps of justified text are aligned by chance in few lines.
 */
const AVERAGE_GAP = { few: 1, many: 0.55, lines: 6 };
/** Maximum distance between the lines of a table, in font sizes. */
const MAX_LINE_DISTANCE = 4;
/** Maximum lines on which tables are searched for. A full page has a hundred. */
const MAX_LINES = 2_000;
/** Minimum rows with at least two cells. */
const MIN_ROWS = 3;
/** A larger distance than this multiple of the line pitch within cells begins a row. */
const ROW_DISTANCE = 1.1;
/** Maximum line pitch of wrapped text, in font sizes. */
const WRAPPED_PITCH = 1.6;
/** Maximum average lines of a row: columns of text have more. */
const MAX_ROW_LINES = 6;
/** Maximum lines of a header. */
const HEADER_LINES = 3;
/** Minimum share of the cells that have text. */
const MIN_FILLED = 0.4;
/**
 * Columns of running text: minimum share of the width that a line fills, its characters, the share of such lines, and
 * of rows that begin in lower case; maximum lines per row, and average characters of one that is wide.
 */
const PROSE = { fill: 0.75, characters: 16, share: 0.5, lower: 0.3, lines: 1.3, wide: 30 };
/** Maximum average characters of the first of two columns: longer ones are columns of text. */
const MAX_KEY_CHARACTERS = 40;

/** A gutter of the page: minimum lines on both sides of it, and maximum share of lines that cross it. */
const GUTTER = { lines: 4, crossing: 0.34 };

const LEADERS = /(?:[.·…_]\s?){4,}/;
const MARKER = /^(?:[•‣▪●○◦∙·–—*-]|[[(]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[\])]?[.)\]]?|\(\d{1,3}\))$/;
const TIME = /^\d{1,4}[:/.-]\d{2}(?:[:/.-]\d{2,4})?$/;
const CODE_END = /[;{}=(\\]$/;

/** Lines that stand in columns: a table, or columns of text. They are the whole lines of their region. */
export interface PageTable {
  /** Cells of each row, as many in each; null for columns of text. */
  rows: string[][] | null;
  columns: readonly Column[];
  /** Vertical positions of its lines. */
  lines: readonly Fragment[][];
}

/** A table without its columns. */
type TableRows = Pick<PageTable, 'lines'> & { rows: string[][] };

/** Horizontal extent of a column. */
interface Column {
  x0: number;
  x1: number;
}

/**
 * Finds tables: at least three rows with cells that are aligned in at least two columns, separated by gaps. Columns of
 * text are found as well.
 */
export function findTables(fragments: readonly Fragment[]): PageTable[] {
  const lines = groupRows(fragments);
  const tables: PageTable[] = [];
  for (let i = 0; i < Math.min(lines.length, MAX_LINES); ) {
    const { run, columns } = growRun(lines, i);
    const table = run.length < MIN_ROWS ? null : buildTable(run, columns);
    if (table !== null) tables.push(table);
    i += run.length < MIN_ROWS ? 1 : (table?.lines.length ?? run.length);
  }
  return tables;
}

/** Groups fragments by row, from top to bottom, each from left to right. */
function groupRows(fragments: readonly Fragment[]): Fragment[][] {
  const rows = [...Map.groupBy(fragments, ({ y }) => y).values()].map((row) => row.toSorted((a, b) => a.x0 - b.x0));
  return rows.sort((a, b) => (a[0]?.y ?? 0) - (b[0]?.y ?? 0));
}

/** Extends a run of lines from `start` as long as gaps between columns remain. */
function growRun(lines: readonly Fragment[][], start: number): { run: Fragment[][]; columns: Column[] } {
  const first = lines[start] ?? [];
  const run = [first];
  let columns = mergeColumns(first);
  if (columns.length < 2 || hasLeaders(first)) return { run, columns };
  for (let i = start + 1; i < lines.length; i++) {
    const line = lines[i] ?? [];
    const distance = (line[0]?.y ?? 0) - (lines[i - 1]?.[0]?.y ?? 0);
    if (distance > MAX_LINE_DISTANCE * (line[0]?.size ?? 0) || hasLeaders(line)) break;
    const extended = mergeColumns([...columns, ...line]);
    const bridged = extended.reduce((sum, column) => sum + Math.max(0, countWithin(columns, column) - 1), 0);
    if (extended.length < 2 || (bridged > 0 && (line.length === 1 || bridged > (columns.length - 1) / 2))) break;
    run.push(line);
    columns = extended;
  }
  return { run, columns };
}

const hasLeaders = (line: readonly Fragment[]): boolean => line.some(({ text }) => LEADERS.test(text));

const countWithin = (columns: readonly Column[], { x0, x1 }: Column): number =>
  columns.filter((column) => column.x0 >= x0 && column.x1 <= x1).length;

/** Joins intervals that overlap or are closer than a gap. */
function mergeColumns(intervals: readonly (Column & { size?: number })[]): Column[] {
  const gap = CELL_GAP * (intervals.find(({ size }) => size !== undefined)?.size ?? 0);
  const columns: Column[] = [];
  for (const { x0, x1 } of intervals.toSorted((a, b) => a.x0 - b.x0)) {
    const last = columns.at(-1);
    if (last !== undefined && x0 - last.x1 < gap) last.x1 = Math.max(last.x1, x1);
    else columns.push({ x0, x1 });
  }
  return columns;
}

function buildTable(run: readonly Fragment[][], candidates: readonly Column[]): PageTable | null {
  const columns = joinHeaderColumns(run, joinCloseColumns(run, candidates));
  if (columns.length < 2) return null;
  const grid = run.map((line) => columns.map((column) => cellText(line, column)));
  const groups = groupLogicalRows(run, grid);
  // A line below the table, such as the end of a paragraph, fills one column.
  while (groups.length > 0 && filledCells(mergeCells(grid, groups.at(-1) ?? [])) < 2) groups.pop();
  const rows = groups.map((group) => mergeCells(grid, group));
  const lines = run.slice(0, (groups.at(-1)?.at(-1) ?? -1) + 1);
  if (isProse(lines, columns, rows)) return { rows: null, columns, lines };
  return isTable(rows) ? { rows, columns, lines } : null;
}

/** Joins columns whose cells are as close to each other as words. */
function joinCloseColumns(run: readonly Fragment[][], columns: readonly Column[]): Column[] {
  const minimum = run.length < AVERAGE_GAP.lines ? AVERAGE_GAP.few : AVERAGE_GAP.many;
  const joined: Column[] = [];
  for (const column of columns) {
    const last = joined.at(-1);
    if (last !== undefined && averageGap(run, last, column) < minimum) last.x1 = column.x1;
    else joined.push({ ...column });
  }
  return joined;
}

/** Joins columns that only have a header with the column beside that has none: headers may be aligned differently. */
function joinHeaderColumns(run: readonly Fragment[][], columns: readonly Column[]): Column[] {
  const filledLines = (column: Column): number[] =>
    run.flatMap((line, i) => (line.some((fragment) => isIn(fragment, column)) ? [i] : []));
  const joined: Column[] = [];
  for (const column of columns) {
    const last = joined.at(-1);
    const [own, others] = [filledLines(column), last === undefined ? [] : filledLines(last)];
    const [header = [], values = []] = [own, others].toSorted((a, b) => (a.at(-1) ?? 0) - (b.at(-1) ?? 0));
    const isSplit = (header.at(-1) ?? 0) < Math.min(HEADER_LINES, values[0] ?? 0);
    if (last !== undefined && isSplit) last.x1 = column.x1;
    else joined.push({ ...column });
  }
  return joined;
}

/** Average distance between the cells of two columns in rows that have both, in font sizes. */
function averageGap(run: readonly Fragment[][], left: Column, right: Column): number {
  const gaps = run.flatMap((line) => {
    const before = line.filter((fragment) => isIn(fragment, left)).at(-1);
    const after = line.find((fragment) => isIn(fragment, right));
    return before === undefined || after === undefined ? [] : [(after.x0 - before.x1) / after.size];
  });
  return gaps.length === 0 ? Number.POSITIVE_INFINITY : average(gaps);
}

const isIn = ({ x0, x1 }: Column, column: Column): boolean => {
  const middle = (x0 + x1) / 2;
  return middle >= column.x0 && middle <= column.x1;
};

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const cellText = (line: readonly Fragment[], column: Column): string =>
  line
    .filter((fragment) => isIn(fragment, column))
    .map(({ text }) => text)
    .join(' ');

const filledCells = (cells: readonly string[]): number => cells.filter((cell) => cell !== '').length;

/** Joins the lines of a row, cell by cell. */
function mergeCells(grid: readonly string[][], group: readonly number[]): string[] {
  const width = grid[0]?.length ?? 0;
  return Array.from({ length: width }, (_, column) => {
    const texts = group.map((line) => grid[line]?.[column] ?? '').filter((text) => text !== '');
    return texts.length === 0 ? '' : joinLines(texts, NO_COMPOUNDS);
  });
}

const NO_COMPOUNDS: ReadonlySet<string> = new Set();

/**
 * Groups the lines of a run into rows: by larger distances where cells are wrapped, else a row begins with each line
 * that is not the continuation of one.
 */
function groupLogicalRows(run: readonly Fragment[][], grid: readonly string[][]): number[][] {
  const pitch = cellPitch(run, grid);
  const size = run[0]?.[0]?.size ?? 1;
  const isApart = run.map((_, i) => i === 0 || distance(run, i) > ROW_DISTANCE * pitch);
  const continued = grid.filter((_, i) => isApart[i] === false);
  const isRow = (cells: readonly string[]): boolean =>
    cells.some((cell) => TIME.test(cell)) ||
    (filledCells(cells) * 2 > cells.length && cells.slice(1).some((cell) => NUMBER.test(cell)));
  const hasNumbers = continued.filter(isRow).length;
  const isWrapped = pitch <= WRAPPED_PITCH * size && isApart.filter(Boolean).length >= MIN_ROWS;
  const byDistance = isWrapped && hasNumbers * 5 <= continued.length;
  const groups: number[][] = [];
  for (const [i, cells] of grid.entries()) {
    const begins = byDistance ? isApart[i] : isApart[i] || !isContinuation(cells, pitch <= WRAPPED_PITCH * size);
    const group = groups.at(-1);
    if (begins || group === undefined) groups.push([i]);
    else group.push(i);
  }
  return groups;
}

const distance = (run: readonly Fragment[][], line: number): number =>
  (run[line]?.[0]?.y ?? 0) - (run[line - 1]?.[0]?.y ?? 0);

/** Whether a line continues the cells of the line above: it has no key, and few cells, none of them a number. */
function isContinuation(cells: readonly string[], isTight: boolean): boolean {
  if (!isTight || cells.some((cell) => NUMBER.test(cell))) return false;
  const [key = ''] = cells;
  if (key !== '') return filledCells(cells) === 1 && /^\p{Ll}/u.test(key);
  return cells.length === 2 || filledCells(cells) <= cells.length / 2;
}

/** Distance between the lines of a wrapped cell: the tenth percentile of the distances within columns. */
function cellPitch(run: readonly Fragment[][], grid: readonly string[][]): number {
  const distances: number[] = [];
  for (const column of (grid[0] ?? []).keys()) {
    const ys = run.filter((_, i) => grid[i]?.[column] !== '').map((line) => line[0]?.y ?? 0);
    for (const [i, y] of ys.entries()) if (i > 0) distances.push(y - (ys[i - 1] ?? 0));
  }
  distances.sort((a, b) => a - b);
  return distances[Math.floor(distances.length * 0.1)] ?? 0;
}

/** Whether rows form a table, and not a list, a table of contents or code. */
function isTable(rows: readonly string[][]): boolean {
  const width = rows[0]?.length ?? 0;
  const full = rows.filter((cells) => filledCells(cells) >= 2);
  const filled = rows.reduce((sum, cells) => sum + filledCells(cells), 0);
  if (full.length < MIN_ROWS || filled < MIN_FILLED * rows.length * width) return false;
  const keys = rows.map(([key = '']) => key);
  // Words of justified text are aligned by chance in few lines.
  const isLower = share(rows.flat(), (cell) => /^\p{Ll}/u.test(cell)) > 0.5;
  if (isLower && (width === 2 || rows.length < AVERAGE_GAP.lines)) return false;
  if (width > 2) return keys.some((key) => !MARKER.test(key) || key === '' || /^\d+$/.test(key)) || width > 3;
  if (share(keys, (key) => MARKER.test(key)) > 0.5 || share(keys, (key) => CODE_END.test(key)) > 0.3) return false;
  if (average(keys.map(({ length }) => length)) > MAX_KEY_CHARACTERS) return false;
  const pages = rows.map((cells) => Number(cells.at(-1) || Number.NaN));
  return !pages.every((page, i) => Number.isInteger(page) && page >= (pages[i - 1] ?? 0));
}

const share = <T>(values: readonly T[], test: (value: T) => boolean): number =>
  values.filter(test).length / Math.max(1, values.length);

/**
 * Whether the lines are columns of text: most fill their column, and the rows begin within sentences. One wide column
 * of text is enough: it may stand beside a table.
 */
function isProse(lines: readonly Fragment[][], columns: readonly Column[], rows: readonly string[][]): boolean {
  if (lines.length > MAX_ROW_LINES * rows.length) return true;
  const prose = columns.map((column, index): number => {
    const own = lines.flat().filter((fragment) => isIn(fragment, column));
    const isFull = ({ x0, x1, text }: Fragment): boolean =>
      text.length >= PROSE.characters && x1 - x0 >= PROSE.fill * (column.x1 - column.x0);
    if (share(own, isFull) <= PROSE.share) return 0;
    const cells = rows.map((row) => row[index] ?? '').filter((cell) => cell !== '');
    const isLower = share(cells, (cell) => /^\p{Ll}/u.test(cell)) > PROSE.lower;
    if (isLower && average(own.map(({ text }) => text.length)) > PROSE.wide) return 2;
    return isLower || lines.length <= rows.length * PROSE.lines ? 1 : 0;
  });
  return prose.reduce((sum, value) => sum + value, 0) >= 2;
}

/**
 * Whether a gap of a table divides the page: other lines stand on both sides of it. Such a table may be part of one
 * column of the page, beside text.
 */
export function isBesideText({ lines, columns }: PageTable, fragments: readonly Fragment[]): boolean {
  const others = groupRows(fragments.filter(({ y }) => y < top(lines) || y > bottom(lines)));
  return columns.slice(1).some(({ x0 }, i) => {
    const x = (x0 + (columns[i]?.x1 ?? x0)) / 2;
    const divided = others.filter((line) => line.some(({ x1 }) => x1 <= x) && line.some((other) => other.x0 >= x));
    const crossing = others.filter((line) => line.some((fragment) => fragment.x0 < x && fragment.x1 > x));
    return divided.length >= GUTTER.lines && crossing.length < divided.length * GUTTER.crossing;
  });
}

const top = (lines: readonly Fragment[][]): number => lines[0]?.[0]?.y ?? 0;
const bottom = (lines: readonly Fragment[][]): number => lines.at(-1)?.[0]?.y ?? 0;

/** Splits fragments at tables: those above each table, and the table in place of its own fragments. */
export function separateTables(
  fragments: readonly Fragment[],
  tables: readonly PageTable[],
): (readonly Fragment[] | TableRows)[] {
  const parts: (readonly Fragment[] | TableRows)[] = [];
  let rest = fragments;
  for (const { rows, columns, lines } of tables) {
    parts.push(rest.filter(({ y }) => y < top(lines)));
    const own = rest.filter(({ y }) => y >= top(lines) && y <= bottom(lines));
    if (rows !== null) parts.push({ rows, lines });
    else parts.push(...columns.map((column) => own.filter((fragment) => isIn(fragment, column))));
    rest = rest.filter(({ y }) => y > bottom(lines));
  }
  return [...parts, rest].filter((part) => 'rows' in part || part.length > 0);
}

/** The rows of a table as lines. */
export function tableLines(
  { rows, lines }: TableRows,
  place: Pick<TextLine, 'page' | 'column' | 'isRotated'>,
): TextLine[] {
  const fragments = lines.flat();
  const [left, right] = [Math.min(...fragments.map(({ x0 }) => x0)), Math.max(...fragments.map(({ x1 }) => x1))];
  const [{ y = 0, baseline = 0, size = 0 } = {}] = fragments;
  return rows.map((cells) => ({
    ...{ text: cells.filter((cell) => cell !== '').join(' '), cells, x0: left, x1: right, left, right },
    ...{ y, baseline, size, ...place },
  }));
}
