import { type Static, Type } from 'typebox';
import { compareCells, parseDate, parseNumber, usesDecimalComma } from './cell-values.ts';
import type { StoredTable, TableChunk, TableRow } from './parse-tables.ts';

const Operation = Type.Enum(['list', 'count', 'sum', 'average', 'min', 'max'], {
  type: 'string',
  description: 'What to compute. `list` returns the rows themselves: use it to look something up.',
});

/** A question about the rows of a table. */
export const TableQuery = Type.Object(
  {
    operation: Operation,
    column: Type.Optional(
      Type.String({ description: 'Column to compute; needed for sum, average, min and max.', maxLength: 500 }),
    ),
    filters: Type.Optional(
      Type.Array(
        Type.Object(
          {
            column: Type.String({ maxLength: 500 }),
            operator: Type.Enum([
              'equals',
              'not_equals',
              'contains',
              'greater',
              'greater_or_equal',
              'less',
              'less_or_equal',
            ]),
            value: Type.String({ maxLength: 500 }),
          },
          { additionalProperties: false },
        ),
        { maxItems: 10, description: 'Conditions that all rows must meet.' },
      ),
    ),
    group_by: Type.Optional(
      Type.String({ description: 'Computes a value for each text of this column.', maxLength: 500 }),
    ),
  },
  { additionalProperties: false },
);

/** A question about the rows of a table. */
export type TableQuery = Static<typeof TableQuery>;

/** A query that a table cannot answer. The message says how to correct it. */
export class TableQueryError extends Error {}

/** What a query computed. */
export interface TableAnswer<Chunk extends TableChunk> {
  operation: TableQuery['operation'];
  /** Name of the column; null without one. */
  column: string | null;
  /** The result with its unit; null for `list` and for groups. */
  value: string | null;
  /** Results of the groups, the largest first; empty without `group_by`. */
  groups: { group: string; value: string }[];
  /** Rows that the result stands in: for min and max those with the value, else all that were computed. */
  rows: readonly TableRow<Chunk>[];
  /** Rows that meet the filters. */
  matched: number;
  /** Of them, rows without a number in the column, and rows with totals, which are not computed. */
  skipped: number;
}

/** First cells of rows with totals, which no sum may count again. */
const TOTAL = /^(?:grand |sub-?)?(?:total|sum|summe|gesamt|gesamtsumme|insgesamt|zwischensumme)s?\b/i;
const MAX_GROUPS = 100;

/** Computes a query. Throws `TableQueryError` for columns that do not exist or have no numbers. */
export function queryTable<Chunk extends TableChunk>(table: StoredTable<Chunk>, query: TableQuery): TableAnswer<Chunk> {
  const { operation } = query;
  const column = query.column === undefined ? null : findColumn(table, query.column);
  const conditions = (query.filters ?? []).map((filter) => toCondition(table, filter));
  const matching = table.rows.filter((row) => conditions.every((meets) => meets(row)));
  const isAggregate = operation !== 'list';
  const rows = isAggregate && conditions.length === 0 ? matching.filter((row) => !isTotal(row)) : matching;
  const base = {
    operation,
    column: column === null ? null : (table.columns[column] ?? null),
    matched: matching.length,
  };
  const compute = (own: readonly TableRow<Chunk>[]) => computeRows(table, own, { operation, column });
  if (query.group_by === undefined) {
    const { value, used } = compute(rows);
    const counted = operation === 'min' || operation === 'max' ? countNumbers(table, rows, column) : used.length;
    return { ...base, value, groups: [], rows: used, skipped: matching.length - counted };
  }
  const key = findColumn(table, query.group_by);
  const groups = [...Map.groupBy(rows, ({ cells }) => cells[key] ?? '')];
  if (!isAggregate) throw new TableQueryError("'group_by' needs an operation other than 'list'.");
  if (groups.length > MAX_GROUPS) throw new TableQueryError(`'${query.group_by}' has more than ${MAX_GROUPS} texts.`);
  const computed = groups.map(([group, own]) => ({ group, value: compute(own).value ?? '' }));
  computed.sort((a, b) => compareCells(b.value, a.value) ?? 0);
  return { ...base, value: null, groups: computed, rows, skipped: matching.length - rows.length };
}

/** Finds a column by its name, without regard to case; else by a part of it that only one has. */
export function findColumn({ columns }: Pick<StoredTable<TableChunk>, 'columns'>, name: string): number {
  const key = normalize(name);
  const exact = columns.findIndex((column) => normalize(column) === key);
  if (exact !== -1) return exact;
  const partial = columns.flatMap((column, i) => (key !== '' && normalize(column).includes(key) ? [i] : []));
  if (partial.length === 1) return partial[0] ?? 0;
  throw new TableQueryError(`There is no column '${name}'. Columns: ${columns.join(', ')}.`);
}

const normalize = (text: string): string => text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();

function toCondition(
  table: StoredTable<TableChunk>,
  { column, operator, value }: NonNullable<TableQuery['filters']>[number],
): (row: TableRow<TableChunk>) => boolean {
  const index = findColumn(table, column);
  const hasComma = usesDecimalComma(columnCells(table, index));
  const isEqual = (cell: string): boolean =>
    normalize(cell) === normalize(value) || compareCells(cell, value, hasComma) === 0;
  if (operator === 'equals') return ({ cells }) => isEqual(cells[index] ?? '');
  if (operator === 'not_equals') return ({ cells }) => !isEqual(cells[index] ?? '');
  if (operator === 'contains') return ({ cells }) => normalize(cells[index] ?? '').includes(normalize(value));
  if (parseNumber(value) === null && parseDate(value) === null)
    throw new TableQueryError(`The value of '${operator}' must be a number or a date such as 2026-03-31.`);
  return ({ cells }) => {
    const order = compareCells(cells[index] ?? '', value, hasComma);
    if (order === null) return false;
    if (order === 0) return operator.endsWith('_or_equal');
    return operator.startsWith('greater') ? order > 0 : order < 0;
  };
}

const columnCells = ({ rows }: StoredTable<TableChunk>, column: number): string[] =>
  rows.map(({ cells }) => cells[column] ?? '');

/** Whether a row holds totals of the rows above. */
export const isTotal = ({ cells }: Pick<TableRow<TableChunk>, 'cells'>): boolean =>
  TOTAL.test(cells.find((cell) => cell !== '') ?? '');

function countNumbers(table: StoredTable<TableChunk>, rows: readonly TableRow<TableChunk>[], column: number | null) {
  const hasComma = column !== null && usesDecimalComma(columnCells(table, column));
  return rows.filter(({ cells }) => column !== null && readValue(cells[column] ?? '', hasComma) !== null).length;
}

/** A number, or a date in milliseconds. */
function readValue(cell: string, hasComma: boolean) {
  const date = parseDate(cell);
  return parseNumber(cell, hasComma) ?? (date === null ? null : { value: date, decimals: 0, unit: 'date' });
}

function computeRows<Chunk extends TableChunk>(
  table: StoredTable<Chunk>,
  rows: readonly TableRow<Chunk>[],
  { operation, column }: { operation: TableQuery['operation']; column: number | null },
): { value: string | null; used: readonly TableRow<Chunk>[] } {
  if (operation === 'list') return { value: null, used: rows };
  if (operation === 'count') return { value: String(rows.length), used: rows };
  if (column === null)
    throw new TableQueryError(`'${operation}' needs a 'column'. Columns: ${table.columns.join(', ')}.`);
  const name = table.columns[column] ?? '';
  const hasComma = usesDecimalComma(columnCells(table, column));
  const values = rows.flatMap((row) => {
    const number = readValue(row.cells[column] ?? '', hasComma);
    return number === null ? [] : [{ row, ...number }];
  });
  if (values.length === 0) throw new TableQueryError(`The column '${name}' has no numbers in the matching rows.`);
  const units = new Set(values.map(({ unit }) => unit).filter((unit) => unit !== ''));
  if (units.size > 1)
    throw new TableQueryError(`The column '${name}' mixes units: ${[...units].slice(0, 5).join(', ')}.`);
  const unit = [...units][0] ?? '';
  const isDate = unit === 'date';
  if (operation === 'min' || operation === 'max') {
    const best = values.reduce(
      (most, { value }) => (operation === 'min' ? Math.min(most, value) : Math.max(most, value)),
      values[0]?.value ?? 0,
    );
    const used = values.filter(({ value }) => value === best).map(({ row }) => row);
    return { value: used[0]?.cells[column] ?? null, used };
  }
  if (isDate) throw new TableQueryError(`The column '${name}' has dates, which have no ${operation}.`);
  const decimals = Math.max(...values.map((one) => one.decimals));
  const sum = values.reduce((total, { value }) => total + value, 0);
  const number =
    operation === 'sum'
      ? sum.toFixed(Math.min(decimals, 20))
      : String(Number((sum / values.length).toFixed(Math.min(decimals + 2, 20))));
  return { value: formatUnit(number, unit), used: values.map(({ row }) => row) };
}

const formatUnit = (number: string, unit: string): string =>
  unit === '' ? number : /^\p{Sc}$|^[A-Z]{3}$/u.test(unit) ? `${unit} ${number}` : `${number} ${unit}`;
