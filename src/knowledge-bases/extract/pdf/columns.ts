import type { Fragment } from './page-text.ts';

/** Columns within columns: a page has no more. */
const MAX_LEVELS = 4;
/** Fragments of a page with columns: a page of a newspaper has some 3,000. Each place is compared with all of them. */
const MAX_FRAGMENTS = 10_000;
/** The same where three or more columns are looked for, which compares each pair of places. */
const MAX_FRAGMENTS_OF_MANY = 3_000;
/** Places at which a gutter is looked for. */
const PLACES = 160;
/** What may cross a gutter, as a share of all fragments: titles, figures and their captions go over both columns. */
const MAX_CROSSING = 0.25;
/** Lines that each of two columns has at least, and each of three or more: tables have many columns of few lines. */
const MIN_LINES = 4;
const MIN_LINES_OF_MANY = 8;
/** Characters that a line of a column has on the average at least: the cells of tables have fewer. */
const MIN_CHARACTERS = 14;
/** How much of a column its lines fill on the average at least. */
const MIN_FILL = 0.55;
/** Width of a gutter, in sizes of letters. */
const MIN_GUTTER = 0.7;
/** The width of the narrower of two columns, as a share of the other's, where one of them has figures. */
const MIN_WIDTH = 0.6;
/** The share of a column's characters that are in its lines where it has labels of figures too. */
const MIN_TEXT = 0.75;
/** Lines of one paragraph stand at most so far from each other, in sizes. */
const MAX_PITCH = 1.6;
/** Baselines that are nearer to each other than this, in sizes, are one: the cells of a row have one. */
const SAME_BASELINE = 0.1;
/** Notes beside a text: lines of the text, and the notes' width, size of letters and characters a line, each beside the text's. */
const NOTES = { textLines: 8, lines: 2, width: 0.5, size: 0.92, characters: 5 };
/** A table over both columns, above or below their text: its rows, and the cells of each. */
const WIDE_TABLE = { rows: 3, cells: 5 };
/** Two pages side by side on one: lines of each, the gap between them in sizes, and where it is. */
const SPREAD = { lines: 12, gutter: 2, from: 0.4, to: 0.6 };

/** Where two columns part, and what they are: running text, notes on the left or right of it, or two pages side by side. */
interface Gutter {
  x: number;
  kind: 'columns' | 'notes left' | 'notes right' | 'pages';
}

/**
 * Fragments of a page in the order in which they are read: column by column, and what goes over several columns between what is above
 * and below it. Notes in a margin come behind the text beside them. A table is read row by row.
 */
export function readingOrder(fragments: readonly Fragment[], level = 0): Fragment[][] {
  if (fragments.length === 0) return [];
  const mayHaveColumns = level < MAX_LEVELS && fragments.length <= MAX_FRAGMENTS;
  const gutter = mayHaveColumns ? gutterOf(fragments, level === 0) : null;
  if (gutter === null) return [fragments.toSorted((a, b) => a.y - b.y || a.x0 - b.x0)];
  const { x, kind } = gutter;
  const tables = kind === 'columns' ? wideTables(fragments, x) : null;
  if (tables !== null) return Object.values(tables).flatMap((part) => readingOrder(part, level + 1));
  const crossing = fragments.filter((fragment) => crosses(fragment, x)).toSorted((a, b) => a.y - b.y);
  const others = fragments.filter((fragment) => !crosses(fragment, x));
  const regions: Fragment[][] = [];
  let above = Number.NEGATIVE_INFINITY;
  for (const y of [...crossing.map((fragment) => fragment.y), Number.POSITIVE_INFINITY]) {
    const band = others.filter((fragment) => fragment.y >= above && fragment.y < y);
    const sides = [band.filter(({ x1 }) => x1 <= x), band.filter(({ x0 }) => x0 >= x)];
    if (kind === 'notes left') sides.reverse();
    for (const side of sides) regions.push(...readingOrder(side, level + 1));
    const wide = crossing.filter((fragment) => fragment.y === y);
    const last = regions.at(-1);
    if (wide.length > 0 && band.length === 0 && last?.every((fragment) => crosses(fragment, x))) last.push(...wide);
    else if (wide.length > 0) regions.push(wide);
    above = y;
  }
  return regions.filter((region) => region.length > 0);
}

const crosses = ({ x0, x1 }: Fragment, x: number): boolean => x0 < x && x1 > x;

/** Where columns of running text part, notes and their text, or two pages side by side; null where there is one column only. */
function gutterOf(fragments: readonly Fragment[], isPage: boolean): Gutter | null {
  const left = Math.min(...fragments.map(({ x0 }) => x0));
  const right = Math.max(...fragments.map(({ x1 }) => x1));
  const isSpread = isPage && right - left > lowest(fragments) - highest(fragments);
  let best: { gutter: Gutter; crossing: number; distance: number } | null = null;
  for (let i = Math.ceil(PLACES * 0.1); i < PLACES * 0.9; i++) {
    const x = left + ((right - left) * i) / PLACES;
    const crossing = fragments.filter((fragment) => crosses(fragment, x)).length;
    const distance = Math.abs(i - PLACES / 2);
    if (crossing > MAX_CROSSING * fragments.length) continue;
    if (best !== null && (crossing > best.crossing || (crossing === best.crossing && distance >= best.distance)))
      continue;
    const one = fragments.filter(({ x1 }) => x1 <= x);
    const other = fragments.filter(({ x0 }) => x0 >= x);
    if (one.length < NOTES.lines || other.length < NOTES.lines || !standBesideEachOther(one, other)) continue;
    const isMiddle = i >= PLACES * SPREAD.from && i <= PLACES * SPREAD.to;
    const kind = gutterKind(one, other, isSpread && crossing === 0 && isMiddle);
    if (kind !== null) best = { gutter: { x, kind }, crossing, distance };
  }
  return best?.gutter ?? null;
}

function gutterKind(one: readonly Fragment[], other: readonly Fragment[], mayBePages: boolean): Gutter['kind'] | null {
  if (areAsides(one, other)) return 'notes left';
  if (areAsides(other, one)) return 'notes right';
  if (areColumns(one, other)) return 'columns';
  return mayBePages && areTwoPages(one, other) ? 'pages' : null;
}

function standBesideEachOther(one: readonly Fragment[], other: readonly Fragment[]): boolean {
  const size = one[0]?.size ?? 0;
  const overlap = Math.min(lowest(one), lowest(other)) - Math.max(highest(one), highest(other));
  return gutterWidth(one, other) >= MIN_GUTTER * size && overlap > size * 2;
}

function gutterWidth(one: readonly Fragment[], other: readonly Fragment[]): number {
  return usualEnd(other.map(({ x0 }) => x0)) + usualEnd(one.map(({ x1 }) => -x1));
}

/** The end of a column's lines that all but a few outliers keep: the fifth percentile. */
function usualEnd(ends: number[]): number {
  const sorted = ends.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.05)] ?? 0;
}

const highest = (fragments: readonly Fragment[]): number => Math.min(...fragments.map(({ y }) => y));
const lowest = (fragments: readonly Fragment[]): number => Math.max(...fragments.map(({ y }) => y));
const leftmost = (fragments: readonly Fragment[]): number => Math.min(...fragments.map(({ x0 }) => x0));
const rightmost = (fragments: readonly Fragment[]): number => Math.max(...fragments.map(({ x1 }) => x1));
const width = (fragments: readonly Fragment[]): number => rightmost(fragments) - leftmost(fragments);
const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Fragments above the first and below the last line of running text beside a gutter, where either are the rows of a table over both columns;
 * null where neither are.
 */
function wideTables(fragments: readonly Fragment[], x: number): Record<'above' | 'text' | 'below', Fragment[]> | null {
  const sides = [fragments.filter(({ x1 }) => x1 <= x), fragments.filter(({ x0 }) => x0 >= x)];
  const lines = sides.flatMap(fullLines);
  if (lines.length === 0) return null;
  const [top, bottom] = [highest(lines), lowest(lines)];
  const above = fragments.filter(({ y }) => y < top);
  const below = fragments.filter(({ y }) => y > bottom);
  const isTable = (part: readonly Fragment[]) => {
    const rows = [...Map.groupBy(part, ({ y }) => y).values()].filter((row) => row.length >= WIDE_TABLE.cells);
    return rows.length >= WIDE_TABLE.rows;
  };
  const parts = { above: isTable(above) ? above : [], below: isTable(below) ? below : [] };
  if (parts.above.length + parts.below.length === 0) return null;
  const inTables = new Set([...parts.above, ...parts.below]);
  return { above: parts.above, text: fragments.filter((fragment) => !inTables.has(fragment)), below: parts.below };
}

/** Whether both sides are running text, or columns of it side by side. */
function areColumns(one: readonly Fragment[], other: readonly Fragment[]): boolean {
  if (isRunningText(one) && isRunningText(other)) return true;
  const [narrow = 0, wide = 0] = [width(one), width(other)].sort((a, b) => a - b);
  if (narrow >= MIN_WIDTH * wide && isColumn(one) && isColumn(other)) return true;
  const [isOne, isOther] = [isDense(one), isDense(other)];
  return (
    (isOne && isPairOfColumns(other)) ||
    (isOther && isPairOfColumns(one)) ||
    (isPairOfColumns(one) && isPairOfColumns(other))
  );
}

/** Whether fragments are the lines of running text rather than cells of a table. */
function isRunningText(fragments: readonly Fragment[]): boolean {
  return (
    fragments.length >= MIN_LINES &&
    average(fragments.map(({ text }) => text.length)) >= MIN_CHARACTERS &&
    average(fragments.map(({ x0, x1 }) => x1 - x0)) >= MIN_FILL * width(fragments)
  );
}

/** The same of a column that has figures with labels too. */
function isColumn(fragments: readonly Fragment[]): boolean {
  if (isRunningText(fragments)) return true;
  const lines = fullLines(fragments);
  return lines.length >= MIN_LINES_OF_MANY && characters(lines) >= MIN_TEXT * characters(fragments);
}

/** The lines of a column that are long enough for running text. */
function fullLines(fragments: readonly Fragment[]): Fragment[] {
  const filled = MIN_FILL * width(fragments);
  return fragments.filter(({ text, x0, x1 }) => text.length >= MIN_CHARACTERS && x1 - x0 >= filled);
}

const characters = (fragments: readonly Fragment[]): number =>
  fragments.reduce((sum, { text }) => sum + text.length, 0);

/** Whether a column has many lines that stand as near to each other as those of a paragraph: rows of tables stand apart. */
function isDense(fragments: readonly Fragment[]): boolean {
  if (fragments.length < MIN_LINES_OF_MANY || !isRunningText(fragments)) return false;
  const rows = fragments.toSorted((a, b) => a.y - b.y);
  const near = rows.filter(({ y, size }, i) => i > 0 && y - (rows[i - 1]?.y ?? 0) <= MAX_PITCH * size);
  return near.length >= 0.75 * (rows.length - 1);
}

function isPairOfColumns(fragments: readonly Fragment[]): boolean {
  if (fragments.length < 2 * MIN_LINES_OF_MANY || fragments.length > MAX_FRAGMENTS_OF_MANY) return false;
  if (characters(fragments) < MIN_CHARACTERS * fragments.length) return false;
  const left = leftmost(fragments);
  for (let i = Math.ceil(PLACES * 0.3); i < PLACES * 0.7; i++) {
    const x = left + (width(fragments) * i) / PLACES;
    const one = fragments.filter(({ x1 }) => x1 <= x);
    const other = fragments.filter(({ x0 }) => x0 >= x);
    if (one.length + other.length < (1 - MAX_CROSSING) * fragments.length) continue;
    if (isDense(one) && isDense(other) && standBesideEachOther(one, other)) return true;
  }
  return false;
}

/** Whether fragments are notes in the margin of a text: narrow, in small letters, and not on its lines as cells would be. */
function areAsides(notes: readonly Fragment[], text: readonly Fragment[]): boolean {
  if (notes.length * 2 > text.length || text.length < NOTES.textLines || !isRunningText(text)) return false;
  if (width(notes) > NOTES.width * width(text) || !areInBlocks(notes)) return false;
  if (average(notes.map(({ size }) => size)) > NOTES.size * average(text.map(({ size }) => size))) return false;
  const letters = average(notes.map(({ text: words }) => words.match(/\p{L}/gu)?.length ?? 0));
  return letters >= NOTES.characters && shareUnaligned(notes, text) >= 0.5;
}

/** Whether most fragments are lines of a block of two or more: running headers and footers stand alone. */
function areInBlocks(fragments: readonly Fragment[]): boolean {
  const rows = fragments.toSorted((a, b) => a.baseline - b.baseline);
  const isNear = (i: number) =>
    (rows[i + 1]?.baseline ?? Infinity) - (rows[i]?.baseline ?? 0) <= MAX_PITCH * (rows[i]?.size ?? 0);
  const inBlocks = rows.filter((_, i) => isNear(i) || (i > 0 && isNear(i - 1)));
  return inBlocks.length >= 0.75 * rows.length;
}

/** Whether each side is a page of its own, whatever is on it: most of their lines stand at different heights. */
function areTwoPages(one: readonly Fragment[], other: readonly Fragment[]): boolean {
  if (gutterWidth(one, other) < SPREAD.gutter * average(one.map(({ size }) => size))) return false;
  return (
    [one, other].every((side) => new Set(side.map(({ y }) => y)).size >= SPREAD.lines) &&
    shareUnaligned(one, other) >= 0.5
  );
}

/** The share of fragments beside which none of the others stands on the same baseline. */
function shareUnaligned(fragments: readonly Fragment[], others: readonly Fragment[]): number {
  const baselines = others.map(({ baseline }) => baseline).sort((a, b) => a - b);
  const unaligned = fragments.filter(({ baseline, size }) => {
    const next = baselines.findIndex((y) => y >= baseline - SAME_BASELINE * size);
    return next === -1 || (baselines[next] ?? 0) > baseline + SAME_BASELINE * size;
  });
  return unaligned.length / fragments.length;
}
