import type { Fragment, TextLine } from './page-text.ts';

/** Minimum gap between table cells, in font sizes. */
const CELL_GAP = 1.8;
/** Maximum vertical distance within a row, in font sizes. */
const ROW_TOLERANCE = 0.45;

/** Groups the fragments of a column into lines by their vertical position. Wide gaps separate cells. */
export function groupLines(
  fragments: readonly Fragment[],
  place: Pick<TextLine, 'page' | 'column' | 'isRotated'>,
): TextLine[] {
  const left = Math.min(...fragments.map(({ x0 }) => x0));
  const right = Math.max(...fragments.map(({ x1 }) => x1));
  const rows: Fragment[][] = [];
  for (const fragment of fragments) {
    const first = rows.at(-1)?.[0];
    if (first !== undefined && Math.abs(first.y - fragment.y) <= ROW_TOLERANCE * Math.max(first.size, fragment.size)) {
      rows.at(-1)?.push(fragment);
    } else rows.push([fragment]);
  }
  return rows.map((row) => ({ ...mergeRow(row), left, right, ...place }));
}

function mergeRow(row: readonly Fragment[]): Fragment & { cells: string[] } {
  const cells: string[] = [];
  let previous: Fragment | null = null;
  for (const fragment of row) {
    // In right-to-left text, the next fragment is on the left.
    const gap =
      previous === null ? Number.POSITIVE_INFINITY : Math.max(fragment.x0 - previous.x1, previous.x0 - fragment.x1);
    if (gap > CELL_GAP * fragment.size) cells.push(fragment.text);
    else cells[cells.length - 1] += ` ${fragment.text}`;
    previous = fragment;
  }
  const longest = row.reduce((most, each) => (each.text.length > most.text.length ? each : most));
  const x0 = Math.min(...row.map((fragment) => fragment.x0));
  const x1 = Math.max(...row.map((fragment) => fragment.x1));
  return { text: cells.join(' '), cells, x0, x1, y: longest.y, baseline: longest.baseline, size: longest.size };
}
