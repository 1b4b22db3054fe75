import { readingOrder } from './columns.ts';
import { groupLines } from './lines.ts';
import { type Fragment, groupByDirection, mergeFragments, type TextLine, type TextPiece } from './page-text.ts';
import { CELL_GAP, findTables, isBesideText, separateTables, tableLines } from './tables.ts';

/** Groups the text of a page to lines in reading order, column by column, and to the rows of tables. */
export function orderLines(pieces: readonly TextPiece[], page: number): TextLine[] {
  const lines: TextLine[] = [];
  for (const [rank, group] of groupByDirection(pieces).entries()) {
    const fragments = mergeFragments(group);
    const tables = findTables(mergeFragments(group, CELL_GAP));
    const own = tables.filter((table) => table.rows !== null && !isBesideText(table, fragments));
    for (const part of separateTables(fragments, own)) {
      const regions = 'rows' in part ? [part] : readingOrder(part).flatMap(separateRegion);
      for (const region of regions) {
        const column = (lines.at(-1)?.column ?? 0) + 1;
        const place = { page, column, isRotated: rank > 0 };
        const added = 'rows' in region ? tableLines(region, place) : groupLines(region, place);
        lines.push(...added.filter(({ text }) => text !== ''));
      }
    }
  }
  return lines;
}

const separateRegion = (region: readonly Fragment[]) => separateTables(region, findTables(region));
