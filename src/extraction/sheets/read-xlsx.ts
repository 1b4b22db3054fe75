import { posix } from 'node:path';
import { type CellRange, parseColumn } from '../../lib/cell-range.ts';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { DocumentWarning } from '../document-warning.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { invalidFile } from '../limits.ts';
import type { Archive } from '../office/archive.ts';
import {
  checkOffice,
  findMainPart,
  type OfficeKind,
  readProperties,
  readRelationships,
  requireRoot,
  withArchive,
} from '../office/office-package.ts';
import { readXml, type XmlHandlers } from '../office/xml.ts';
import { checkTextLength } from '../text-writer.ts';
import { formatCell, readNumberFormats } from './number-formats.ts';
import type { SheetRow } from './sheet-documents.ts';
import type { Sheet } from './sheet-layout.ts';
import { type Workbook, yieldSheets } from './workbook.ts';

const WORKBOOK: OfficeKind = { name: 'an Excel workbook', root: 'workbook', main: 'xl/workbook.xml' };
/** Columns and rows of Excel. */
const MAX_COLUMNS = 16_384;
const MAX_ROWS = 1_048_576;
const MAX_SHEETS = 1_000;
const MAX_MERGES = 100_000;

/**
 * Reads an Excel workbook (Office Open XML), all its sheets, hidden ones too: cells as Excel shows them, formulas by
 * the result that was saved. Skips comments, charts and pivot caches.
 */
export async function* readXlsx(input: ReaderInput): AsyncGenerator<Extraction> {
  yield* yieldSheets(await withArchive(input, readWorkbook), input.chunkCharacters);
}

/** Throws as `readXlsx` does for damaged files. */
export function checkXlsx(input: ReaderInput): Promise<void> {
  return checkOffice(input, WORKBOOK);
}

async function readWorkbook(archive: Archive): Promise<Workbook> {
  const main = await findMainPart(archive, WORKBOOK);
  const listed: { name: string; id: string }[] = [];
  let is1904 = false;
  await readXml(
    archive.read(main),
    requireRoot(WORKBOOK, {
      open: (element, attributes) => {
        const { name = '', date1904 = '' } = attributes;
        if (element === 'sheet' && listed.length < MAX_SHEETS)
          listed.push({ name, id: attributes['r:id'] ?? attributes['id'] ?? '' });
        else if (element === 'workbookPr') is1904 = isTrue(date1904);
      },
    }),
  );
  const relationships = await readRelationships(archive, main);
  const partByType = (type: string, usual: string) =>
    relationships.values().find((one) => one.type === type)?.target ?? posix.join(posix.dirname(main), usual);
  const context: SheetContext = {
    strings: await readSharedStrings(archive, partByType('sharedStrings', 'sharedStrings.xml')),
    formats: await readNumberFormats(archive, partByType('styles', 'styles.xml')),
    is1904,
    characters: 0,
    missingResults: 0,
  };
  const sheets: Sheet[] = [];
  let isComplete = true;
  for (const { name, id } of listed) {
    const relationship = relationships.get(id);
    // Charts have sheets of their own.
    if (relationship?.type !== 'worksheet') continue;
    const cells = new SheetCells(context);
    isComplete = (await readXml(archive.read(relationship.target), cells)) && isComplete;
    sheets.push({ name, rows: cells.rows, merges: cells.merges });
  }
  if (!isComplete && sheets.every(({ rows }) => rows.length === 0))
    throw invalidFile('The workbook is damaged: it ends before any text.');
  const { title: _, ...metadata } = await readProperties(archive);
  return { sheets, metadata, warnings: warnOfMissingResults(context.missingResults) };
}

function warnOfMissingResults(formulas: number): DocumentWarning[] {
  if (formulas === 0) return [];
  const message = `The results of ${formulas.toLocaleString('en')} formulas are not in the file: the program that wrote it did not compute them.`;
  return [{ code: 'text_missing', message }];
}

function isTrue(attribute: string): boolean {
  return attribute === '1' || attribute === 'true';
}

async function readSharedStrings(archive: Archive, part: string): Promise<string[]> {
  const strings: string[] = [];
  let characters = 0;
  let text: string | null = null;
  let isText = false;
  let phoneticDepth = 0;
  await readXml(archive.read(part), {
    open: (name) => {
      if (name === 'si') text = '';
      else if (name === 'rPh') phoneticDepth += 1;
      else if (name === 't') isText = phoneticDepth === 0;
    },
    close: (name) => {
      if (name === 't') isText = false;
      else if (name === 'rPh') phoneticDepth -= 1;
      else if (name === 'si') {
        characters += (text ?? '').length + 1;
        checkTextLength(characters);
        strings.push(collapseWhitespace(text ?? ''));
      }
    },
    text: (piece) => {
      if (isText && text !== null) text += piece;
    },
  });
  return strings;
}

/** What the sheets of a workbook share. */
interface SheetContext {
  strings: readonly string[];
  /** Number formats by cell style. */
  formats: readonly string[];
  is1904: boolean;
  /** Characters and cells so far, of all sheets. */
  characters: number;
  /** Formulas without a result. */
  missingResults: number;
}

interface Cell {
  column: number;
  type: string;
  style: number;
  value: string;
  isFormula: boolean;
}

/** Handlers of a worksheet part: ISO/IEC 29500-1, 18.3. */
class SheetCells implements XmlHandlers {
  readonly rows: SheetRow[] = [];
  readonly merges: CellRange[] = [];
  readonly #context: SheetContext;
  #number = 0;
  #row: string[] = [];
  #cell: Cell | null = null;
  #column = 0;
  #isValue = false;
  #phoneticDepth = 0;

  constructor(context: SheetContext) {
    this.#context = context;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'c') this.#openCell(attributes);
    else if (name === 'v' || name === 't') this.#isValue = this.#cell !== null && this.#phoneticDepth === 0;
    else if (name === 'f' && this.#cell !== null) this.#cell.isFormula = true;
    else if (name === 'row') this.#openRow(Number(attributes['r'] ?? this.#number + 1));
    else if (name === 'rPh') this.#phoneticDepth += 1;
    else if (name === 'mergeCell') this.#addMerge(attributes['ref'] ?? '');
  }

  text(text: string): void {
    if (this.#isValue && this.#cell !== null) this.#cell.value += text;
  }

  close(name: string): void {
    if (name === 'v' || name === 't') this.#isValue = false;
    else if (name === 'c') this.#closeCell();
    else if (name === 'rPh') this.#phoneticDepth -= 1;
    else if (name === 'row' && this.#row.length > 0) this.rows.push({ number: this.#number, cells: this.#row });
  }

  /** Rows are ascending; a number out of order counts as the next one. */
  #openRow(number: number): void {
    this.#number = number > this.#number && number <= MAX_ROWS ? number : this.#number + 1;
    this.#row = [];
    this.#column = 0;
  }

  #openCell({ r = '', t = 'n', s = '0' }: Readonly<Record<string, string>>): void {
    const letters = /^[A-Z]{1,3}/.exec(r)?.[0];
    const column = letters === undefined ? this.#column : parseColumn(letters);
    this.#cell = { column, type: t, style: Number(s), value: '', isFormula: false };
    this.#column = column + 1;
  }

  #closeCell(): void {
    const cell = this.#cell;
    this.#cell = null;
    if (cell === null || cell.column >= MAX_COLUMNS) return;
    if (cell.isFormula && cell.value === '' && cell.type !== 'str') this.#context.missingResults += 1;
    const text = this.#showCell(cell);
    if (text === '') return;
    const context = this.#context;
    context.characters += text.length + Math.max(1, cell.column - this.#row.length);
    checkTextLength(context.characters);
    while (this.#row.length < cell.column) this.#row.push('');
    this.#row[cell.column] = text;
  }

  #showCell({ type, value, style }: Cell): string {
    const { strings, formats, is1904 } = this.#context;
    if (type === 's') return strings[Number(value)] ?? '';
    if (type === 'b') return value === '' ? '' : isTrue(value.trim()) ? 'TRUE' : 'FALSE';
    // A date as text (ISO 8601) is shown without a time at midnight.
    if (type === 'd') return value.replace(/T00:00:00(?:\.0+)?Z?$/, '').replace('T', ' ');
    if (type !== 'n' || value.trim() === '') return collapseWhitespace(value);
    return formatCell(Number(value), formats[style], is1904) ?? collapseWhitespace(value);
  }

  #addMerge(reference: string): void {
    const match = /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/.exec(reference);
    if (match === null || this.merges.length >= MAX_MERGES) return;
    const [, column = '', row, lastColumn = '', lastRow] = match;
    this.merges.push({
      column: parseColumn(column),
      row: Number(row),
      lastColumn: parseColumn(lastColumn),
      lastRow: Number(lastRow),
    });
  }
}
