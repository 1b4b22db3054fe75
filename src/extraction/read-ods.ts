import { Archive } from './docx/archive.ts';
import { readXml, type XmlHandlers } from './docx/xml.ts';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import { invalidFile, noText } from './limits.ts';
import { TableDocuments } from './read-csv.ts';
import { checkTextLength } from './text-writer.ts';

/** Maximum repetitions of a row and columns of a table: both can be declared without being written. */
const MAX_REPEATED = 1_000;
const MAX_COLUMNS = 1_000;

/**
 * Reads an OpenDocument spreadsheet, all its sheets: one document for each sheet with text, named after the sheet
 * unless it is the only one. Cells have the text that the program shows. Reads nothing but `content.xml`.
 */
export async function* readOds(input: ReaderInput): AsyncGenerator<Extraction> {
  const archive = await Archive.open(input);
  const workbook = new Workbook(input.chunkCharacters);
  try {
    const isComplete = await readXml(archive.read('content.xml'), workbook);
    if (!isComplete) throw invalidFile('The spreadsheet is damaged: its content is not complete.');
  } finally {
    archive.close();
  }
  if (workbook.sheets.length === 0) throw noText();
  const isOnly = workbook.sheets.length === 1;
  for (const { name, documents } of workbook.sheets) {
    for (const extraction of documents) {
      // A long sheet has several documents, named after their first rows.
      const row = documents.length === 1 ? '' : extraction.part;
      const part = [isOnly ? '' : name, row].filter((one) => one !== '').join('-');
      yield 'error' in extraction ? extraction : { part, document: { ...extraction.document, title: name } };
    }
  }
}

interface Sheet {
  name: string;
  documents: Extraction[];
}

/** Handlers of `content.xml`: https://docs.oasis-open.org/office/OpenDocument/v1.3/ */
class Workbook implements XmlHandlers {
  readonly sheets: Sheet[] = [];
  readonly #groupCharacters: number;
  #name = '';
  #table: TableDocuments | null = null;
  #documents: Extraction[] = [];
  #row: string[] = [];
  /** Empty cells that are written only if another cell follows. */
  #emptyCells = 0;
  #rowRepeats = 1;
  #cell: string | null = null;
  #cellRepeats = 1;
  #comments = 0;
  #characters = 0;

  constructor(groupCharacters: number) {
    this.#groupCharacters = groupCharacters;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'annotation') this.#comments += 1;
    else if (name === 'table') this.#openSheet(attributes['name'] ?? '');
    else if (name === 'table-row') this.#openRow(repeats(attributes['number-rows-repeated'], MAX_REPEATED));
    else if (name === 'table-cell' || name === 'covered-table-cell') {
      this.#cell = '';
      this.#cellRepeats = repeats(attributes['number-columns-repeated'], MAX_COLUMNS);
    } else if (name === 'p' || name === 's' || name === 'tab' || name === 'line-break') this.text(' ');
  }

  text(text: string): void {
    if (this.#cell !== null && this.#comments === 0) this.#cell += text;
  }

  close(name: string): void {
    if (name === 'annotation') this.#comments -= 1;
    else if (name === 'table') this.#closeSheet();
    else if (name === 'table-row') this.#closeRow();
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
  }

  #openSheet(name: string): void {
    const isTaken = this.sheets.some((sheet) => sheet.name === name);
    this.#name = name === '' || isTaken ? `${name || 'Sheet'} ${this.sheets.length + 1}` : name;
    this.#table = new TableDocuments(this.#groupCharacters);
    this.#documents = [];
  }

  #closeSheet(): void {
    const documents = [...this.#documents, ...(this.#table?.finish() ?? [])];
    if (documents.length > 0) this.sheets.push({ name: this.#name, documents });
    this.#table = null;
  }

  #openRow(count: number): void {
    this.#row = [];
    this.#emptyCells = 0;
    this.#rowRepeats = count;
  }

  #closeRow(): void {
    if (this.#row.length === 0 || this.#table === null) return;
    for (let i = 0; i < this.#rowRepeats; i++) {
      this.#count(this.#row.reduce((sum, cell) => sum + cell.length, this.#row.length));
      this.#documents.push(...this.#table.add(this.#row));
    }
  }

  #closeCell(): void {
    const text = (this.#cell ?? '').trim();
    this.#cell = null;
    if (text === '') this.#emptyCells += this.#cellRepeats;
    else {
      const columns = Math.min(this.#emptyCells + this.#cellRepeats, MAX_COLUMNS - this.#row.length);
      for (let i = 0; i < columns; i++) this.#row.push(i < this.#emptyCells ? '' : text);
      this.#count(text.length * this.#cellRepeats);
      this.#emptyCells = 0;
    }
  }

  /** Bounds the text of the workbook before it is repeated. */
  #count(characters: number): void {
    this.#characters += characters;
    checkTextLength(this.#characters);
  }
}

function repeats(attribute: string | undefined, max: number): number {
  const count = Number(attribute ?? 1);
  return Number.isInteger(count) && count > 0 ? Math.min(count, max) : 1;
}
