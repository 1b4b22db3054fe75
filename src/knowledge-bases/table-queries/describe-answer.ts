import { formatTableRow } from '../../extraction/text-writer.ts';
import { formatCellRange, parseColumn } from '../../lib/cell-range.ts';
import { truncateGraphemes } from '../../lib/truncate.ts';
import type { DocumentChunk, DocumentTable } from './load-tables.ts';
import type { TableRow } from './parse-tables.ts';
import { findColumn, type TableAnswer, type TableQuery } from './query-table.ts';

/** Maximum characters of a cell that is shown. */
const MAX_CELL_CHARACTERS = 300;
const NAMES = {
  list: 'Rows',
  count: 'Rows',
  sum: 'Total of',
  average: 'Average of',
  min: 'Lowest',
  max: 'Highest',
} as const;

/** A computed answer: its text, and the chunk and the cells that it was computed from. */
export interface DescribedAnswer {
  text: string;
  chunk: DocumentChunk;
  /** Such as `Costs!C2:C9`; null for formats without cells. */
  cells: string | null;
}

/**
 * Describes an answer: the result, how many rows it was computed from and where they are, and up to `maxRows` of them
 * as a Markdown table. Null when no row matches.
 */
export function describeAnswer(
  table: DocumentTable,
  query: TableQuery,
  answer: TableAnswer<DocumentChunk>,
  maxRows: number,
): DescribedAnswer | null {
  const [first] = answer.rows;
  if (first === undefined) return null;
  const target = answer.column === null ? null : findColumn(table, answer.column);
  const cells = cellReference(table, answer.rows, target);
  const shown = answer.rows.slice(0, maxRows);
  const others = answer.rows.length - shown.length;
  const lines = [
    ...(answer.groups.length > 0 ? [] : [headline(query, answer, first.cells[target ?? 0] ?? '')]),
    ...(answer.groups.length > 0
      ? markdownTable(
          [query.group_by ?? '', headline(query, answer, '')],
          answer.groups.map((one) => [one.group, one.value]),
        )
      : showRows(table, query, shown)),
    ...(others > 0 && answer.groups.length === 0 ? [`and ${others} more`] : []),
    describeSource(answer, first.chunk.documentName, cells),
  ];
  return { text: lines.join('\n\n'), chunk: first.chunk, cells };
}

function headline(
  { operation }: TableQuery,
  { column, value, matched }: TableAnswer<DocumentChunk>,
  cell: string,
): string {
  if (operation === 'list' && matched === 1 && column !== null && cell !== '') return `${column}: **${cell}**`;
  if (operation === 'list') return `${NAMES.list}: ${matched}`;
  const name = operation === 'count' || column === null ? NAMES.count : `${NAMES[operation]} ${column}`;
  return value === null ? name : `${name}: **${value}**`;
}

function showRows(table: DocumentTable, query: TableQuery, rows: readonly TableRow<DocumentChunk>[]): string[] {
  const named = [query.column, ...(query.filters ?? []).map(({ column }) => column)];
  const columns = named.flatMap((name) => (name === undefined ? [] : [findColumn(table, name)]));
  const all = query.operation === 'list' && query.column === undefined ? [...table.columns.keys()] : [0, ...columns];
  const shown = [...new Set(all)].sort((a, b) => a - b);
  const pick = (cells: readonly string[]): string[] => shown.map((index) => cells[index] ?? '');
  return markdownTable(
    pick(table.columns),
    rows.map(({ cells }) => pick(cells)),
  );
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${formatTableRow(cells.map((cell) => truncateGraphemes(cell, MAX_CELL_CHARACTERS).replaceAll('|', '\\|')))} |`;
  return [[line(header), `|${' --- |'.repeat(header.length)}`, ...rows.map(line)].join('\n')];
}

function describeSource({ rows, skipped, operation }: TableAnswer<DocumentChunk>, name: string, cells: string | null) {
  const count =
    operation === 'min' || operation === 'max' ? '' : ` ${rows.length} ${rows.length === 1 ? 'row' : 'rows'} of`;
  const place = cells === null ? '' : `, ${cells}`;
  const without = skipped > 0 ? `; ${skipped} without a value or with totals left out` : '';
  return `Computed from${count} ${name}${place}${without}.`;
}

/** A1 reference of rows of a sheet, such as `Costs!C5`; null for other formats. */
function cellReference(
  table: DocumentTable,
  rows: readonly TableRow<DocumentChunk>[],
  column: number | null,
): string | null {
  const numbers = rows.map(({ number }) => number).filter((number) => number !== null);
  const [, sheet, letters] = /^(?:(.*)!)?([A-Z]+)\d+(?::|$)/.exec(rows[0]?.chunk.cells ?? '') ?? [];
  if (letters === undefined || numbers.length < rows.length) return rows[0]?.chunk.cells ?? null;
  const name = sheet === undefined ? null : sheet.replace(/^'(.*)'$/, '$1').replaceAll("''", "'");
  const range = {
    row: numbers.reduce((least, number) => Math.min(least, number)),
    lastRow: numbers.reduce((most, number) => Math.max(most, number)),
  };
  const from = parseColumn(letters);
  const last = column === null ? table.columns.length - 1 : column;
  return formatCellRange(name, { ...range, column: from + (column ?? 0), lastColumn: from + last });
}
