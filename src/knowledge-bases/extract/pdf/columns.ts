import type { Fragment, TextLine } from './page-text.ts';

/** Columns within columns: a page has no more. */
const MAX_LEVELS = 4;
/** Places at which a gutter is looked for. */
const PLACES = 160;
/** What may cross a gutter, as a share of all fragments: titles, figures and their captions go over both columns. */
const MAX_CROSSING = 0.25;
/** Lines that each of two columns has at least. */
const MIN_LINES = 4;
/** Characters that a line of a column has on the average at least: the cells of tables have fewer. */
const MIN_CHARACTERS = 14;
/** How much of a column its lines fill on the average at least. */
const MIN_FILL = 0.55;
/** Width of a gutter, in sizes of letters. */
const MIN_GUTTER = 0.7;
/** A gap in a line from which on what stands apart is a cell, in sizes of letters. */
const CELL_GAP = 1.8;
/** How far from each other lines of one row may stand, in sizes. */
const ROW = 0.45;

/**
 * Fragments of a page in the order in which they are read: column by column, and what goes over several columns between what is above
 * and below it. A table is read row by row.
 */
export function readingOrder(fragments: readonly Fragment[], level = 0): Fragment[][] {
  if (fragments.length === 0) return [];
  const gutter = level < MAX_LEVELS ? gutterOf(fragments) : null;
  if (gutter === null) return [fragments.toSorted((a, b) => a.y - b.y || a.x0 - b.x0)];
  const crossing = fragments.filter((fragment) => crosses(fragment, gutter)).toSorted((a, b) => a.y - b.y);
  const others = fragments.filter((fragment) => !crosses(fragment, gutter));
  const regions: Fragment[][] = [];
  let above = Number.NEGATIVE_INFINITY;
  for (const y of [...crossing.map((fragment) => fragment.y), Number.POSITIVE_INFINITY]) {
    const band = others.filter((fragment) => fragment.y >= above && fragment.y < y);
    regions.push(
      ...readingOrder(
        band.filter(({ x1 }) => x1 <= gutter),
        level + 1,
      ),
    );
    regions.push(
      ...readingOrder(
        band.filter(({ x0 }) => x0 >= gutter),
        level + 1,
      ),
    );
    const wide = crossing.filter((fragment) => fragment.y === y);
    const last = regions.at(-1);
    if (wide.length > 0 && band.length === 0 && last?.every((fragment) => crosses(fragment, gutter)))
      last.push(...wide);
    else if (wide.length > 0) regions.push(wide);
    above = y;
  }
  return regions.filter((region) => region.length > 0);
}

const crosses = ({ x0, x1 }: Fragment, x: number): boolean => x0 < x && x1 > x;

/** Where two columns of running text part; null where there is one only. */
function gutterOf(fragments: readonly Fragment[]): number | null {
  const left = Math.min(...fragments.map(({ x0 }) => x0));
  const right = Math.max(...fragments.map(({ x1 }) => x1));
  let best: { x: number; crossing: number; distance: number } | null = null;
  for (let i = Math.ceil(PLACES * 0.15); i < PLACES * 0.85; i++) {
    const x = left + ((right - left) * i) / PLACES;
    const crossing = fragments.filter((fragment) => crosses(fragment, x)).length;
    const distance = Math.abs(i - PLACES / 2);
    if (crossing > MAX_CROSSING * fragments.length) continue;
    if (best !== null && (crossing > best.crossing || (crossing === best.crossing && distance >= best.distance)))
      continue;
    if (areColumns(fragments, x)) best = { x, crossing, distance };
  }
  return best?.x ?? null;
}

function areColumns(fragments: readonly Fragment[], x: number): boolean {
  const one = fragments.filter(({ x1 }) => x1 <= x);
  const other = fragments.filter(({ x0 }) => x0 >= x);
  if (!isColumn(one) || !isColumn(other)) return false;
  const gutter = usualEnd(other.map(({ x0 }) => x0)) - usualEnd(one.map(({ x1 }) => -x1)) * -1;
  const size = one[0]?.size ?? 0;
  const overlap = Math.min(lowest(one), lowest(other)) - Math.max(highest(one), highest(other));
  return gutter >= MIN_GUTTER * size && overlap > size * 2;
}

/** The end of a column's lines that all but a few outliers keep: the fifth percentile. */
function usualEnd(ends: number[]): number {
  const sorted = ends.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.05)] ?? 0;
}

const highest = (fragments: readonly Fragment[]): number => Math.min(...fragments.map(({ y }) => y));
const lowest = (fragments: readonly Fragment[]): number => Math.max(...fragments.map(({ y }) => y));

/** Whether fragments are the lines of running text rather than cells of a table. */
function isColumn(fragments: readonly Fragment[]): boolean {
  if (fragments.length < MIN_LINES) return false;
  const characters = fragments.reduce((sum, { text }) => sum + text.length, 0) / fragments.length;
  const width = Math.max(...fragments.map(({ x1 }) => x1)) - Math.min(...fragments.map(({ x0 }) => x0));
  const filled = fragments.reduce((sum, { x0, x1 }) => sum + (x1 - x0), 0) / fragments.length;
  return characters >= MIN_CHARACTERS && filled >= MIN_FILL * width;
}

/** The fragments of a column as lines: what stands on one height is one line, with cells where the gaps are wide. */
export function linesOf(
  fragments: readonly Fragment[],
  place: Pick<TextLine, 'page' | 'column' | 'isTurned'>,
): TextLine[] {
  const left = Math.min(...fragments.map(({ x0 }) => x0));
  const right = Math.max(...fragments.map(({ x1 }) => x1));
  const rows: Fragment[][] = [];
  for (const fragment of fragments) {
    const first = rows.at(-1)?.[0];
    if (first !== undefined && Math.abs(first.y - fragment.y) <= ROW * Math.max(first.size, fragment.size)) {
      rows.at(-1)?.push(fragment);
    } else rows.push([fragment]);
  }
  return rows.map((row) => ({ ...lineOf(row), left, right, ...place }));
}

function lineOf(row: readonly Fragment[]): Fragment & { cells: string[] } {
  const cells: string[] = [];
  let previous: Fragment | null = null;
  for (const fragment of row) {
    // Right to left, what comes next stands on the left.
    const gap =
      previous === null ? Number.POSITIVE_INFINITY : Math.max(fragment.x0 - previous.x1, previous.x0 - fragment.x1);
    if (gap > CELL_GAP * fragment.size) cells.push(fragment.text);
    else cells[cells.length - 1] += ` ${fragment.text}`;
    previous = fragment;
  }
  const longest = row.reduce((most, each) => (each.text.length > most.text.length ? each : most));
  const x0 = Math.min(...row.map((fragment) => fragment.x0));
  const x1 = Math.max(...row.map((fragment) => fragment.x1));
  return { text: cells.join(' '), cells, x0, x1, y: longest.y, size: longest.size };
}
