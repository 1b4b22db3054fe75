import type { Extraction } from '../extracted-document.ts';
import { formatTableRow, TextWriter } from '../text-writer.ts';

/** Characters of a document: a longer sheet becomes several documents, so that none is held in memory as a whole. */
const PART_CHARACTERS = 1_000_000;
/** Rows from which a header is detected. */
export const HEADER_ROWS = 20;
/** A number, also with a currency or in accounting format. */
export const NUMBER = /^[-+(]*\p{Sc}?[\d.,\s]*\d[\d.,\s]*[%\p{Sc})]*$/u;
const YEAR = /^(?:19|20)\d\d$/;

/** A row of a sheet: its number from 1, and the text of its cells from the first column of the table. */
export interface SheetRow {
  number: number;
  cells: readonly string[];
}

/** A table of a sheet. */
export interface SheetTable {
  /** First column, from 0. */
  column: number;
  /** A header that the layout tells; null to detect one in the first row; absent to continue the table above. */
  header?: SheetRow | null;
  rows: readonly SheetRow[];
}

/** A line of a block. */
interface SheetLine {
  text: string;
  /** Number of its row; null for a repeated header. */
  row: number | null;
  columns: number;
}

/**
 * Writes the rows of a sheet, one per line with cells separated by ` | `, in blocks of about one chunk. Each block
 * repeats the header, unless it is longer than half a chunk. Long sheets become several documents.
 */
export class SheetDocuments {
  readonly #groupCharacters: number;
  readonly #sheet: string | null;
  /** The first rows, until they suffice to detect a header. */
  #firstRows: SheetRow[] | null = [];
  #header: SheetLine | null = null;
  #column = 0;
  #writer = new TextWriter();
  #partRow = 1;
  #row = 1;
  /** The first row of the current block. */
  #groupRow = 1;
  #lines: SheetLine[] = [];
  #characters = 0;

  /** `sheet` is the name of the sheet for the cell ranges of blocks; null for files without sheets. */
  constructor(groupCharacters: number, sheet: string | null) {
    this.#groupCharacters = groupCharacters;
    this.#sheet = sheet;
  }

  /** Adds a row, which has text, to the current table. Returns the documents that are complete. */
  add(row: SheetRow): Extraction[] {
    if (this.#firstRows === null) return this.#addRow(row);
    this.#firstRows.push(row);
    return this.#firstRows.length < HEADER_ROWS ? [] : this.#begin(this.#firstRows);
  }

  /** Adds a table. Returns the documents that are complete. */
  addTable({ column, header, rows }: SheetTable): Extraction[] {
    const documents = this.#endTable();
    this.#column = column;
    if (header === undefined) return [...documents, ...rows.flatMap((row) => this.#addRow(row))];
    this.#header = null;
    if (header !== null) this.#setHeader(header);
    else this.#firstRows = [];
    return [...documents, ...rows.flatMap((row) => this.add(row))];
  }

  /** Adds a heading above the next table, or a line of text. Returns the documents that are complete. */
  addText(text: string, place: { column: number; row: number; level?: number }): Extraction[] {
    const documents = this.#endTable();
    const { column, row, level } = place;
    const cells = { sheet: this.#sheet, column, lastColumn: column, rows: [row] };
    this.#writer.write(level === undefined ? 'paragraph' : 'heading', text, { ...(level && { level }), cells });
    return documents;
  }

  /** Returns the remaining documents. */
  finish(): Extraction[] {
    const documents = this.#endTable();
    return this.#writer.length === 0 ? documents : [...documents, this.#takeDocument()];
  }

  #endTable(): Extraction[] {
    const documents = this.#firstRows === null ? [] : this.#begin(this.#firstRows);
    this.#endGroup();
    return documents;
  }

  #begin(rows: readonly SheetRow[]): Extraction[] {
    this.#firstRows = null;
    const [first] = rows;
    const hasHeader = first !== undefined && isHeader(rows.map(({ cells }) => cells));
    if (hasHeader) this.#setHeader(first);
    return (hasHeader ? rows.slice(1) : rows).flatMap((row) => this.#addRow(row));
  }

  #setHeader({ number, cells }: SheetRow): void {
    this.#firstRows = null;
    const line = { text: formatTableRow(cells), row: number, columns: cells.length };
    // A longer header is written once: repeating it would multiply the size of a file with short rows.
    if (line.text.length <= this.#groupCharacters / 2) this.#header = line;
    else this.#push(line);
  }

  #addRow({ number, cells }: SheetRow): Extraction[] {
    const documents = this.#writer.length > PART_CHARACTERS ? [this.#takeDocument()] : [];
    const text = formatTableRow(cells);
    if (text === '') return documents;
    if (this.#lines.length > 0 && this.#characters + text.length > this.#groupCharacters) this.#endGroup();
    if (this.#lines.length === 0) {
      this.#groupRow = this.#row;
      if (this.#header !== null) {
        this.#push(this.#header);
        this.#header = { ...this.#header, row: null };
      }
    }
    this.#push({ text, row: number, columns: cells.length });
    this.#row += 1;
    return documents;
  }

  #push(line: SheetLine): void {
    this.#lines.push(line);
    this.#characters += line.text.length + 1;
  }

  #endGroup(): void {
    const columns = this.#lines.reduce((most, line) => Math.max(most, line.columns), 1);
    const cells = {
      sheet: this.#sheet,
      column: this.#column,
      lastColumn: this.#column + columns - 1,
      rows: this.#lines.map(({ row }) => row),
    };
    this.#writer.write('table', this.#lines.map(({ text }) => text).join('\n'), { cells });
    this.#lines = [];
    this.#characters = 0;
  }

  /** The document so far, without the current block. */
  #takeDocument(): Extraction {
    const part = `row-${this.#partRow}`;
    const document = { ...this.#writer.finish(), title: null, metadata: {} };
    this.#writer = new TextWriter();
    this.#partRow = this.#lines.length === 0 ? this.#row : this.#groupRow;
    return { part, document };
  }
}

/** Whether the first of several rows names the columns: distinct texts that are not numbers, except years. */
export function isHeader(rows: readonly (readonly string[])[]): boolean {
  const [first = [], ...others] = rows;
  const names = first.map((cell) => cell.trim().toLowerCase());
  const isYear = (name: string, column: number) =>
    column > 0 && YEAR.test(name) && !others.some((row) => YEAR.test(row[column]?.trim() ?? ''));
  if (others.length === 0 || names.some((name, column) => NUMBER.test(name) && !isYear(name, column))) return false;
  const filled = names.filter((name) => name !== '');
  if (new Set(filled).size < filled.length || filled.length < names.length / 2) return false;
  const width = Math.max(...others.map((row) => row.length));
  if (width > 1) return filled.length > 1;
  // In a single column, a header is shorter than the values, or the values are numbers.
  const values = others.map(([cell = '']) => cell);
  return (
    values.every((cell) => NUMBER.test(cell)) ||
    (filled[0]?.length ?? 0) < Math.min(...values.map(({ length }) => length))
  );
}
