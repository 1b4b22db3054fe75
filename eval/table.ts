import { mean } from './measures/statistics.ts';

/** A table of figures, which a later run may be laid beside. */
export interface Sheet {
  title: string;
  /** What stands over the rows' names. */
  subject: string;
  columns: readonly Column[];
  rows: readonly Row[];
}

/** A column of a sheet. Those that are `fixed` say what was measured, and not how well: no run differs in them. */
export interface Column {
  name: string;
  digits: number;
  fixed?: boolean;
  /** A probability that a difference is chance: it has no mean. */
  isChance?: boolean;
}

/** A row of a sheet: a figure for each column, null where there is none. */
export interface Row {
  name: string;
  cells: readonly (number | null)[];
}

const NOTHING = '-';
/** Digits of a figure in a run's file: more than are ever shown. */
const KEPT_DIGITS = 5;

/** A figure as a run's file keeps it; what is shown comes of this, so that a run and its own file never differ. */
export function kept(value: number): number {
  return Number(value.toFixed(KEPT_DIGITS));
}

/** A column of figures with three digits. */
export function share(name: string): Column {
  return { name, digits: 3 };
}

/** A column of probabilities that a difference is chance. */
export function chance(name: string): Column {
  return { name, digits: 3, isChance: true };
}

/** A column of whole numbers, the same in every run. */
export function count(name: string): Column {
  return { name, digits: 0, fixed: true };
}

/**
 * The sheet as Markdown. Where `before` has the same sheet, row and column with another figure, that one follows in
 * brackets: `0.520 (was 0.517)`.
 */
export function markdown(sheet: Sheet, before: readonly Sheet[] = []): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const earlier = before.find(({ title }) => title === sheet.title);
  const rows = sheet.rows.map((row) =>
    line([row.name, ...sheet.columns.map((column, at) => cell(row.cells[at], earlier, { row, column }))]),
  );
  const head = line([sheet.subject, ...sheet.columns.map(({ name }) => name)]);
  const rule = line(['---', ...sheet.columns.map(() => '---:')]);
  return [`**${sheet.title}**`, '', head, rule, ...rows].join('\n');
}

/** The sheet with the mean of its first `size` rows under them: each row counts alike. There is no mean of what is no measure (p). */
export function withMean(sheet: Sheet, size: number): Sheet {
  const some = sheet.rows.slice(0, size);
  const cells = sheet.columns.map(({ fixed, isChance }, at) =>
    fixed || isChance ? null : mean(some.map((row) => row.cells[at] ?? Number.NaN)),
  );
  return { ...sheet, rows: [...some, { name: `mean of the ${size}`, cells }, ...sheet.rows.slice(size)] };
}

/** How many figures of the sheet differ, as they are shown, from those of an earlier run that has them. */
export function countChanges(sheet: Sheet, before: readonly Sheet[]): number {
  const earlier = before.find(({ title }) => title === sheet.title);
  const changed = sheet.rows.flatMap((row) =>
    sheet.columns.filter((column, at) => earlierOf(row.cells[at], earlier, { row, column }) !== null),
  );
  return changed.length;
}

interface Place {
  row: Row;
  column: Column;
}

function cell(value: number | null | undefined, earlier: Sheet | undefined, { row, column }: Place): string {
  const now = shown(value, column);
  const then = earlierOf(value, earlier, { row, column });
  return then === null ? now : `${now} (was ${then})`;
}

/** The earlier figure as it is shown, where there is one that differs. */
function earlierOf(
  value: number | null | undefined,
  earlier: Sheet | undefined,
  { row, column }: Place,
): string | null {
  if (column.fixed || earlier === undefined) return null;
  const at = earlier.columns.findIndex(({ name }) => name === column.name);
  const before = earlier.rows.find(({ name }) => name === row.name)?.cells[at];
  const then = shown(before, column);
  return before === undefined || then === shown(value, column) ? null : then;
}

/** Figures from JSON: what was no number was written as null. */
function shown(value: number | null | undefined, { digits }: Column): string {
  return value === null || value === undefined || !Number.isFinite(value) ? NOTHING : kept(value).toFixed(digits);
}
