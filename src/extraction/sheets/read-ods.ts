import type { CellRange } from '../../lib/cell-range.ts';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { invalidFile } from '../limits.ts';
import { checkOpenDocument, readOpenDocument } from '../office/open-document.ts';
import type { XmlHandlers } from '../office/xml.ts';
import { checkTextLength } from '../text-writer.ts';
import type { SheetRow } from './sheet-documents.ts';
import type { Sheet } from './sheet-layout.ts';
import { yieldSheets } from './workbook.ts';

/** Maximum repetitions of a row and columns of a table: both can be declared without being written. */
const MAX_REPEATED = 1_000;
const MAX_COLUMNS = 1_000;
const MAX_MERGES = 100_000;

/**
 * Reads an OpenDocument spreadsheet, all its sheets, hidden ones too. Cells have the text that the program shows.
 */
export async function* readOds(input: ReaderInput): AsyncGenerator<Extraction> {
  const handlers = new Tables();
  const { isComplete, metadata } = await readOpenDocument(input, 'spreadsheet', handlers);
  if (!isComplete) throw invalidFile('The spreadsheet is damaged: its content is not complete.');
  const { title: _, ...properties } = metadata;
  yield* yieldSheets({ sheets: handlers.sheets, metadata: properties, warnings: [] }, input.chunkCharacters);
}

/** Throws as `readOds` does for damaged files. */
export function checkOds(input: ReaderInput): Promise<void> {
  return checkOpenDocument(input, 'spreadsheet');
}

/** Handlers of `content.xml`: https://docs.oasis-open.org/office/OpenDocument/v1.3/ */
class Tables implements XmlHandlers {
  readonly sheets: Sheet[] = [];
  #rows: SheetRow[] = [];
  #merges: CellRange[] = [];
  #name = '';
  #number = 0;
  #row: string[] = [];
  /** Column of the current cell. */
  #column = 0;
  #rowRepeats = 1;
  #cell: string | null = null;
  #cellRepeats = 1;
  #comments = 0;
  #characters = 0;
  #tableDepth = 0;

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'annotation') this.#comments += 1;
    else if (name === 'table') this.#openTable(attributes['name'] ?? '');
    else if (name === 'table-row' && this.#tableDepth === 1) this.#openRow(attributes['number-rows-repeated']);
    else if ((name === 'table-cell' || name === 'covered-table-cell') && this.#tableDepth === 1)
      this.#openCell(attributes);
    else if (name === 'p' || name === 's' || name === 'tab' || name === 'line-break') this.text(' ');
  }

  text(text: string): void {
    if (this.#cell !== null && this.#comments === 0) this.#cell += text;
  }

  close(name: string): void {
    if (name === 'annotation') this.#comments -= 1;
    else if (name === 'table') this.#closeTable();
    else if (name === 'table-row' && this.#tableDepth === 1) this.#closeRow();
    else if ((name === 'table-cell' || name === 'covered-table-cell') && this.#tableDepth === 1) this.#closeCell();
  }

  /** Tables within cells are text of their cell. */
  #openTable(name: string): void {
    this.#tableDepth += 1;
    if (this.#tableDepth > 1) return;
    this.#name = name;
    this.#rows = [];
    this.#merges = [];
    this.#number = 0;
  }

  #closeTable(): void {
    this.#tableDepth -= 1;
    if (this.#tableDepth === 0) this.sheets.push({ name: this.#name, rows: this.#rows, merges: this.#merges });
  }

  #openRow(repeats: string | undefined): void {
    this.#row = [];
    this.#column = 0;
    this.#rowRepeats = parseCount(repeats);
    this.#number += 1;
  }

  #closeRow(): void {
    if (this.#row.length > 0) {
      const characters = this.#row.reduce((sum, cell) => sum + cell.length, this.#row.length);
      for (let i = 0; i < Math.min(this.#rowRepeats, MAX_REPEATED); i++) {
        this.#count(characters);
        this.#rows.push({ number: this.#number + i, cells: this.#row });
      }
    }
    this.#number += this.#rowRepeats - 1;
  }

  #openCell(attributes: Readonly<Record<string, string>>): void {
    this.#cell = '';
    this.#cellRepeats = parseCount(attributes['number-columns-repeated']);
    const columns = parseCount(attributes['number-columns-spanned']);
    const rows = parseCount(attributes['number-rows-spanned']);
    if (columns * rows === 1 || this.#merges.length >= MAX_MERGES) return;
    const [column, row] = [this.#column, this.#number];
    this.#merges.push({ column, row, lastColumn: column + columns - 1, lastRow: row + rows - 1 });
  }

  #closeCell(): void {
    const text = collapseWhitespace(this.#cell ?? '');
    this.#cell = null;
    const end = Math.min(this.#column + this.#cellRepeats, MAX_COLUMNS);
    if (text !== '') {
      for (let column = this.#row.length; column < end; column++) this.#row.push(column < this.#column ? '' : text);
      this.#count(text.length * this.#cellRepeats);
    }
    this.#column += this.#cellRepeats;
  }

  /** Bounds the text of the workbook before it is repeated. */
  #count(characters: number): void {
    this.#characters += characters;
    checkTextLength(this.#characters);
  }
}

function parseCount(attribute: string | undefined): number {
  const count = Number(attribute ?? 1);
  return Number.isInteger(count) && count > 0 ? count : 1;
}
