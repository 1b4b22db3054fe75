import type { Fragment } from './page-text.ts';

/** Maximum recursion into columns. */
const MAX_LEVELS = 4;
/** Maximum fragments for column detection, which compares all candidates with them. A newspaper page has 3,000. */
const MAX_FRAGMENTS = 10_000;
/** The same for three or more columns, which compares pairs of candidates. */
const MAX_FRAGMENTS_OF_MANY = 3_000;
/** Candidate positions of a gutter. */
const CANDIDATES = 160;
/** Maximum share of fragments that cross a gutter: titles, figures and captions span both columns. */
const MAX_CROSSING = 0.25;
/** Minimum lines of each of two columns, and of three or more: tables have many columns of few lines. */
const MIN_LINES = 4;
const MIN_LINES_OF_MANY = 8;
/** Minimum average characters of a column's lines: table cells have fewer. */
const MIN_CHARACTERS = 14;
/** Minimum average share of a column's width that its lines fill. */
const MIN_FILL = 0.55;
/** Minimum width of a gutter, in font sizes. */
const MIN_GUTTER = 0.7;
/** Minimum width of the narrower column, as a share of the other's, when one contains figures. */
const MIN_WIDTH = 0.6;
/** Minimum share of a column's characters in full lines, when it also contains labels of figures. */
const MIN_TEXT = 0.75;
/** Maximum distance between lines of a paragraph, in font sizes. */
const MAX_PITCH = 1.6;
/** Maximum distance of equal baselines, in font sizes: cells of a row share one. */
const SAME_BASELINE = 0.1;
/** Margin notes: minimum lines of text and notes, maximum relative width and font size, minimum letters per line. */
const NOTES = { textLines: 8, lines: 2, width: 0.5, size: 0.92, characters: 5 };
/** Minimum rows, and cells per row, of a table that spans both columns. */
const WIDE_TABLE = { rows: 3, cells: 5 };
/** Two pages on one: minimum lines of each, minimum gap in font sizes, and range of the gap's position. */
const SPREAD = { lines: 12, gutter: 2, from: 0.4, to: 0.6 };

/** Position of a gutter, and its kind: between columns, between margin notes and text, or between two pages. */
interface Gutter {
  x: number;
  kind: 'columns' | 'notes left' | 'notes right' | 'pages';
}

/**
 * Splits the fragments of a page into regions in reading order: column by column, with full-width fragments between
 * what is above and below them, and margin notes after the text beside them. Tables stay whole, row by row.
 */
export function readingOrder(fragments: readonly Fragment[], level = 0): Fragment[][] {
  if (fragments.length === 0) return [];
  const mayHaveColumns = level < MAX_LEVELS && fragments.length <= MAX_FRAGMENTS;
  const gutter = mayHaveColumns ? findGutter(fragments, level === 0) : null;
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

/** Finds the gutter with the fewest crossing fragments, then the most central one; null for a single column. */
function findGutter(fragments: readonly Fragment[], isPage: boolean): Gutter | null {
  const left = Math.min(...fragments.map(({ x0 }) => x0));
  const right = Math.max(...fragments.map(({ x1 }) => x1));
  const isSpread = isPage && right - left > lowest(fragments) - highest(fragments);
  let best: { gutter: Gutter; crossing: number; distance: number } | null = null;
  for (let i = Math.ceil(CANDIDATES * 0.1); i < CANDIDATES * 0.9; i++) {
    const x = left + ((right - left) * i) / CANDIDATES;
    const crossing = fragments.filter((fragment) => crosses(fragment, x)).length;
    const distance = Math.abs(i - CANDIDATES / 2);
    if (crossing > MAX_CROSSING * fragments.length) continue;
    if (best !== null && (crossing > best.crossing || (crossing === best.crossing && distance >= best.distance)))
      continue;
    const one = fragments.filter(({ x1 }) => x1 <= x);
    const other = fragments.filter(({ x0 }) => x0 >= x);
    if (one.length < NOTES.lines || other.length < NOTES.lines || !areSideBySide(one, other)) continue;
    const isMiddle = i >= CANDIDATES * SPREAD.from && i <= CANDIDATES * SPREAD.to;
    const kind = gutterKind(one, other, isSpread && crossing === 0 && isMiddle);
    if (kind !== null) best = { gutter: { x, kind }, crossing, distance };
  }
  return best?.gutter ?? null;
}

function gutterKind(one: readonly Fragment[], other: readonly Fragment[], mayBePages: boolean): Gutter['kind'] | null {
  if (areMarginNotes(one, other)) return 'notes left';
  if (areMarginNotes(other, one)) return 'notes right';
  if (areColumns(one, other)) return 'columns';
  return mayBePages && areTwoPages(one, other) ? 'pages' : null;
}

function areSideBySide(one: readonly Fragment[], other: readonly Fragment[]): boolean {
  const size = one[0]?.size ?? 0;
  const overlap = Math.min(lowest(one), lowest(other)) - Math.max(highest(one), highest(other));
  return gutterWidth(one, other) >= MIN_GUTTER * size && overlap > size * 2;
}

function gutterWidth(one: readonly Fragment[], other: readonly Fragment[]): number {
  return robustEdge(other.map(({ x0 }) => x0)) + robustEdge(one.map(({ x1 }) => -x1));
}

/** The fifth percentile: the edge of a column without outliers. */
function robustEdge(ends: number[]): number {
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
 * Separates tables that span both columns above the first or below the last full line of text; null when there are
 * none.
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

/** Whether both sides are running text, or columns of it. */
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

/** Whether fragments are lines of running text rather than table cells. */
function isRunningText(fragments: readonly Fragment[]): boolean {
  return (
    fragments.length >= MIN_LINES &&
    average(fragments.map(({ text }) => text.length)) >= MIN_CHARACTERS &&
    average(fragments.map(({ x0, x1 }) => x1 - x0)) >= MIN_FILL * width(fragments)
  );
}

/** Whether fragments are running text that may contain figures with labels. */
function isColumn(fragments: readonly Fragment[]): boolean {
  if (isRunningText(fragments)) return true;
  const lines = fullLines(fragments);
  return lines.length >= MIN_LINES_OF_MANY && characters(lines) >= MIN_TEXT * characters(fragments);
}

/** Lines that are long enough for running text. */
function fullLines(fragments: readonly Fragment[]): Fragment[] {
  const filled = MIN_FILL * width(fragments);
  return fragments.filter(({ text, x0, x1 }) => text.length >= MIN_CHARACTERS && x1 - x0 >= filled);
}

const characters = (fragments: readonly Fragment[]): number =>
  fragments.reduce((sum, { text }) => sum + text.length, 0);

/** Whether a column has many lines at the distance of a paragraph: table rows are further apart. */
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
  for (let i = Math.ceil(CANDIDATES * 0.3); i < CANDIDATES * 0.7; i++) {
    const x = left + (width(fragments) * i) / CANDIDATES;
    const one = fragments.filter(({ x1 }) => x1 <= x);
    const other = fragments.filter(({ x0 }) => x0 >= x);
    if (one.length + other.length < (1 - MAX_CROSSING) * fragments.length) continue;
    if (isDense(one) && isDense(other) && areSideBySide(one, other)) return true;
  }
  return false;
}

/** Whether fragments are margin notes: narrow, in a small font, not on the baselines of the text like cells. */
function areMarginNotes(notes: readonly Fragment[], text: readonly Fragment[]): boolean {
  if (notes.length * 2 > text.length || text.length < NOTES.textLines || !isRunningText(text)) return false;
  if (width(notes) > NOTES.width * width(text) || !areInBlocks(notes)) return false;
  if (average(notes.map(({ size }) => size)) > NOTES.size * average(text.map(({ size }) => size))) return false;
  const letters = average(notes.map(({ text: words }) => words.match(/\p{L}/gu)?.length ?? 0));
  return letters >= NOTES.characters && shareUnaligned(notes, text) >= 0.5;
}

/** Whether most fragments are in blocks of two or more lines: running headers and footers are single lines. */
function areInBlocks(fragments: readonly Fragment[]): boolean {
  const rows = fragments.toSorted((a, b) => a.baseline - b.baseline);
  const isNear = (i: number) =>
    (rows[i + 1]?.baseline ?? Infinity) - (rows[i]?.baseline ?? 0) <= MAX_PITCH * (rows[i]?.size ?? 0);
  const inBlocks = rows.filter((_, i) => isNear(i) || (i > 0 && isNear(i - 1)));
  return inBlocks.length >= 0.75 * rows.length;
}

/** Whether each side is a page of its own: most of their baselines differ. */
function areTwoPages(one: readonly Fragment[], other: readonly Fragment[]): boolean {
  if (gutterWidth(one, other) < SPREAD.gutter * average(one.map(({ size }) => size))) return false;
  return (
    [one, other].every((side) => new Set(side.map(({ y }) => y)).size >= SPREAD.lines) &&
    shareUnaligned(one, other) >= 0.5
  );
}

/** Share of fragments without one of the others on the same baseline. */
function shareUnaligned(fragments: readonly Fragment[], others: readonly Fragment[]): number {
  const baselines = others.map(({ baseline }) => baseline).sort((a, b) => a - b);
  const unaligned = fragments.filter(({ baseline, size }) => {
    const next = baselines.findIndex((y) => y >= baseline - SAME_BASELINE * size);
    return next === -1 || (baselines[next] ?? 0) > baseline + SAME_BASELINE * size;
  });
  return unaligned.length / fragments.length;
}
