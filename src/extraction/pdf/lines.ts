import type { Fragment, TextLine } from './page-text.ts';

/** Maximum vertical distance within a row, in font sizes. */
const ROW_TOLERANCE = 0.45;

/** Groups the fragments of a column into lines by their vertical position. */
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
  return rows.map((row) => ({ ...mergeRow(row), cells: [], left, right, ...place }));
}

function mergeRow(row: readonly Fragment[]): Fragment {
  const longest = row.reduce((most, each) => (each.text.length > most.text.length ? each : most));
  const x0 = Math.min(...row.map((fragment) => fragment.x0));
  const x1 = Math.max(...row.map((fragment) => fragment.x1));
  const text = row.map((fragment) => fragment.text).join(' ');
  return { text, x0, x1, y: longest.y, baseline: longest.baseline, size: longest.size };
}
