/** Returns the letters of a column: 0 is `A`, 26 is `AA`. */
export function columnLetters(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : columnLetters(Math.floor(column / 26) - 1) + letter;
}

/** Returns the column of letters, from 0. */
export function parseColumn(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

/** Cells from one corner to the opposite one, both inclusive. Columns count from 0, rows from 1. */
export interface CellRange {
  column: number;
  row: number;
  lastColumn: number;
  lastRow: number;
}

/** Formats a range as spreadsheet programs write it: `Costs!A2:C9`, `'Q1 plan'!B3`, `A2:C9` without a sheet. */
export function formatCellRange(sheet: string | null, { column, row, lastColumn, lastRow }: CellRange): string {
  const first = `${columnLetters(column)}${row}`;
  const last = `${columnLetters(lastColumn)}${lastRow}`;
  const range = first === last ? first : `${first}:${last}`;
  if (sheet === null) return range;
  const isPlain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(sheet);
  return `${isPlain ? sheet : `'${sheet.replaceAll("'", "''")}'`}!${range}`;
}
