import Papa from 'papaparse';
import { streamText } from './content.ts';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import { invalidFile, noText } from './limits.ts';
import { formatTableRow, TextWriter } from './text-writer.ts';

/** Characters from which the delimiter is detected, and the rows of them that are compared. */
const DETECTION_CHARACTERS = 65_536;
const DETECTION_ROWS = 64;
/** Delimiters to detect, the most common first. */
const DELIMITERS = [',', ';', '\t', '|'];
/** Maximum characters of a row: a longer one has an unclosed quote. */
const MAX_ROW_CHARACTERS = 4_194_304;
/** Characters of a document: a longer file becomes several documents, so that none is held in memory as a whole. */
const PART_CHARACTERS = 1_000_000;
/** Rows from which a header is detected. */
const HEADER_ROWS = 20;
const NUMBER = /^[-+]?[\d.,\s]*\d[\d.,\s]*%?$/;

/**
 * Reads CSV: one line per row, cells separated by ` | `. Rows are grouped into tables of about one chunk, each of which
 * repeats the header unless the header is longer than half a chunk. Above a million characters a file becomes several
 * documents, named after their first row without the header: `row-1`, `row-5001`.
 */
export async function* readCsv(input: ReaderInput): AsyncGenerator<Extraction> {
  const table = new TableDocuments(input.chunkCharacters);
  let isOnly = true;
  for await (const rows of parseRows(streamText(input))) {
    for (const row of rows) {
      for (const document of table.add(row)) {
        isOnly = false;
        yield document;
      }
    }
  }
  const last = table.finish();
  if (last.length === 0 && isOnly) throw noText();
  for (const document of last) yield isOnly && last.length === 1 ? { ...document, part: '' } : document;
}

/**
 * Parses CSV (RFC 4180) incrementally, skipping blank rows. Throws `invalid_file` for rows above the maximum length.
 */
export async function* parseRows(text: AsyncIterable<string>): AsyncGenerator<string[][]> {
  let parser: Papa.Parser | null = null;
  let pending = '';
  for await (const piece of text) {
    pending += piece.replace(/\r\n?/g, '\n');
    if (parser === null && pending.length < DETECTION_CHARACTERS) continue;
    parser ??= createParser(pending);
    const { data, meta } = parser.parse(pending, 0, true) as Papa.ParseResult<string[]>;
    pending = pending.slice(meta.cursor);
    if (pending.length > MAX_ROW_CHARACTERS) {
      const limit = MAX_ROW_CHARACTERS.toLocaleString('en');
      throw invalidFile(`A row has more than ${limit} characters: a quote may not be closed.`);
    }
    yield withoutBlankRows(data);
  }
  const { data } = (parser ?? createParser(pending)).parse(pending, 0, false) as Papa.ParseResult<string[]>;
  yield withoutBlankRows(data);
}

function createParser(head: string): Papa.Parser {
  const options = { delimitersToGuess: DELIMITERS, preview: DETECTION_ROWS, skipEmptyLines: 'greedy' } as const;
  const { delimiter } = Papa.parse(head, options).meta;
  return new Papa.Parser({ delimiter, newline: '\n' });
}

function withoutBlankRows(rows: readonly string[][]): string[][] {
  return rows.filter((row) => row.some((cell) => /\S/.test(cell)));
}

/** Groups the rows of a sheet into tables of about one chunk, and tables into documents. */
export class TableDocuments {
  readonly #groupCharacters: number;
  /** The first rows, until they suffice to detect a header. */
  #firstRows: string[][] | null = [];
  #header: string | null = null;
  #writer = new TextWriter();
  #partRow = 1;
  #row = 1;
  /** The first row of the current table. */
  #groupRow = 1;
  #lines: string[] = [];
  #characters = 0;

  constructor(groupCharacters: number) {
    this.#groupCharacters = groupCharacters;
  }

  /** Adds a row. Returns the documents that are complete. */
  add(row: string[]): Extraction[] {
    if (this.#firstRows === null) return this.#addRow(row);
    this.#firstRows.push(row);
    return this.#firstRows.length < HEADER_ROWS ? [] : this.#begin(this.#firstRows);
  }

  /** Returns the remaining documents. */
  finish(): Extraction[] {
    const documents = this.#firstRows === null ? [] : this.#begin(this.#firstRows);
    this.#endGroup();
    return this.#writer.length === 0 ? documents : [...documents, this.#takeDocument()];
  }

  #begin(rows: string[][]): Extraction[] {
    this.#firstRows = null;
    const [first = []] = rows;
    const hasHeader = isHeader(rows);
    const line = formatTableRow(first);
    // A longer header is written once: repeating it would multiply the size of a file with short rows.
    if (hasHeader && line.length <= this.#groupCharacters / 2) this.#header = line;
    else if (hasHeader) this.#push(line);
    return (hasHeader ? rows.slice(1) : rows).flatMap((row) => this.#addRow(row));
  }

  #addRow(row: string[]): Extraction[] {
    const documents = this.#writer.length > PART_CHARACTERS ? [this.#takeDocument()] : [];
    const line = formatTableRow(row);
    if (this.#lines.length > 0 && this.#characters + line.length > this.#groupCharacters) this.#endGroup();
    if (this.#lines.length === 0) {
      this.#groupRow = this.#row;
      if (this.#header !== null) this.#push(this.#header);
    }
    this.#push(line);
    this.#row += 1;
    return documents;
  }

  #push(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length + 1;
  }

  #endGroup(): void {
    this.#writer.write('table', this.#lines.join('\n'));
    this.#lines = [];
    this.#characters = 0;
  }

  /** The document so far, without the current table. */
  #takeDocument(): Extraction {
    const part = `row-${this.#partRow}`;
    const document = { ...this.#writer.finish(), title: null, metadata: {} };
    this.#writer = new TextWriter();
    this.#partRow = this.#lines.length === 0 ? this.#row : this.#groupRow;
    return { part, document };
  }
}

/** Whether the first of several rows names the columns: distinct texts that are not numbers. */
function isHeader(rows: readonly string[][]): boolean {
  const [first = [], ...others] = rows;
  const names = first.map((cell) => cell.trim().toLowerCase());
  if (others.length === 0 || names.some((name) => NUMBER.test(name))) return false;
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
