import { mean } from './statistics.ts';

/** A table of metrics that can be compared with the same table of an earlier run. */
export interface MetricTable {
  title: string;
  /** Heading of the column of row names. */
  subject: string;
  columns: readonly MetricColumn[];
  rows: readonly MetricRow[];
}

/** A column of a metric table. */
export interface MetricColumn {
  name: string;
  digits: number;
  /** True for columns that describe the data (counts) rather than the result: runs are not compared in them. */
  fixed?: boolean;
  /** True for p-values, which have no mean. */
  isChance?: boolean;
}

/** One value per column; null for a missing value. */
export interface MetricRow {
  name: string;
  cells: readonly (number | null)[];
}

const MISSING = '-';
/** Digits of a stored metric: more than any table shows. */
const STORED_DIGITS = 5;

/** Rounds a metric as it is stored. Tables show rounded values, so that a run never differs from its own file. */
export function roundMetric(value: number): number {
  return Number(value.toFixed(STORED_DIGITS));
}

/** A column of metrics with three digits. */
export function metricColumn(name: string): MetricColumn {
  return { name, digits: 3 };
}

/** A column of p-values. */
export function pValueColumn(name: string): MetricColumn {
  return { name, digits: 3, isChance: true };
}

/** A column of counts, equal in every run. */
export function countColumn(name: string): MetricColumn {
  return { name, digits: 0, fixed: true };
}

/** Renders the table as Markdown. A value that differs from the earlier run is followed by it: `0.520 (was 0.517)`. */
export function renderMetricTable(table: MetricTable, earlierRun: readonly MetricTable[] = []): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const earlier = earlierRun.find(({ title }) => title === table.title);
  const renderCell = (row: MetricRow, column: MetricColumn, index: number): string => {
    const value = row.cells[index];
    const previous = changedFrom(value, earlier, { row, column });
    return previous === null ? formatMetric(value, column) : `${formatMetric(value, column)} (was ${previous})`;
  };
  const rows = table.rows.map((row) =>
    line([row.name, ...table.columns.map((column, index) => renderCell(row, column, index))]),
  );
  const head = line([table.subject, ...table.columns.map(({ name }) => name)]);
  const rule = line(['---', ...table.columns.map(() => '---:')]);
  return [`**${table.title}**`, '', head, rule, ...rows].join('\n');
}

/** Inserts the unweighted mean of the first `size` rows below them. Counts and p-values have no mean. */
export function appendMeanRow(table: MetricTable, size: number): MetricTable {
  const averaged = table.rows.slice(0, size);
  const cells = table.columns.map(({ fixed, isChance }, index) =>
    fixed || isChance ? null : mean(averaged.map((row) => row.cells[index] ?? Number.NaN)),
  );
  return { ...table, rows: [...averaged, { name: `mean of the ${size}`, cells }, ...table.rows.slice(size)] };
}

/** Counts the values that differ, as shown, from those of an earlier run. */
export function countDifferences(table: MetricTable, earlierRun: readonly MetricTable[]): number {
  const earlier = earlierRun.find(({ title }) => title === table.title);
  return table.rows.flatMap((row) =>
    table.columns.filter((column, index) => changedFrom(row.cells[index], earlier, { row, column }) !== null),
  ).length;
}

/** The formatted value of the earlier run; null when there is none or both are equal as shown. */
function changedFrom(
  value: number | null | undefined,
  earlier: MetricTable | undefined,
  { row, column }: { row: MetricRow; column: MetricColumn },
): string | null {
  if (column.fixed || earlier === undefined) return null;
  const index = earlier.columns.findIndex(({ name }) => name === column.name);
  const before = earlier.rows.find(({ name }) => name === row.name)?.cells[index];
  const previous = formatMetric(before, column);
  return before === undefined || previous === formatMetric(value, column) ? null : previous;
}

/** Stored files have null for NaN, because JSON has no NaN. */
function formatMetric(value: number | null | undefined, { digits }: MetricColumn): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? MISSING
    : roundMetric(value).toFixed(digits);
}
