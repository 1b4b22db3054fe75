import { noText } from './bounds.ts';
import { textPieces } from './content.ts';
import { CsvRows, delimiterOf } from './csv-rows.ts';
import type { ReadJob, ReadPart } from './extracted-document.ts';
import { TextWriter, tableLine } from './text-writer.ts';

/** Characters by which the delimiter is told. */
const HEAD_CHARACTERS = 65_536;
/** Characters of a document: a file with more becomes several, so that none has to be held as a whole. */
const PART_CHARACTERS = 1_000_000;
/** Rows that are looked at to tell whether the first is a header. */
const HEADER_ROWS = 20;
const NUMBER = /^[-+]?[\d.,\s]*\d[\d.,\s]*%?$/;

/**
 * Reads CSV: a row is a line, with ` | ` between its cells. Rows come in tables of about the size of a chunk, each of which begins with the
 * header again, unless that is longer than half a chunk. A file of more than a million characters is several documents; their parts are
 * `row-1`, `row-5001` and so on, by the first row after the header.
 */
export async function* readCsv(job: ReadJob): AsyncGenerator<ReadPart> {
  const table = new CsvTable(job.chunkCharacters);
  let isOnly = true;
  for await (const rows of rowsOf(job)) {
    for (const row of rows) {
      for (const part of table.add(row)) {
        isOnly = false;
        yield part;
      }
    }
  }
  const last = table.finish();
  if (last.length === 0 && isOnly) throw noText();
  for (const part of last) yield isOnly && last.length === 1 ? { ...part, part: '' } : part;
}

async function* rowsOf(job: ReadJob): AsyncGenerator<string[][]> {
  let head = '';
  let parser: CsvRows | null = null;
  for await (const piece of textPieces(job)) {
    if (parser !== null) {
      yield parser.push(piece);
      continue;
    }
    head += piece;
    if (head.length < HEAD_CHARACTERS) continue;
    parser = new CsvRows(delimiterOf(head));
    yield parser.push(head.replace(/^\ufeff/, ''));
  }
  if (parser === null) {
    parser = new CsvRows(delimiterOf(head));
    yield parser.push(head.replace(/^\ufeff/, ''));
  }
  yield parser.end();
}

/** Puts rows together to tables, and tables to documents. */
class CsvTable {
  readonly #groupCharacters: number;
  /** The first rows, until there are enough to tell whether the first is a header. */
  #first: string[][] | null = [];
  #header: string | null = null;
  #writer = new TextWriter();
  #partRow = 1;
  #row = 1;
  /** The first row of the table that is open. */
  #groupRow = 1;
  #lines: string[] = [];
  #characters = 0;

  constructor(groupCharacters: number) {
    this.#groupCharacters = groupCharacters;
  }

  /** Takes a row; gives the documents that have become full. */
  add(row: string[]): ReadPart[] {
    if (this.#first === null) return this.#addLine(row);
    this.#first.push(row);
    return this.#first.length < HEADER_ROWS ? [] : this.#begin(this.#first);
  }

  /** The last documents; none where all rows are in those before. */
  finish(): ReadPart[] {
    const parts = this.#first === null ? [] : this.#begin(this.#first);
    this.#endGroup();
    return this.#writer.length === 0 ? parts : [...parts, this.#take()];
  }

  #begin(rows: string[][]): ReadPart[] {
    this.#first = null;
    const [first = []] = rows;
    const hasHeader = isHeader(rows);
    const line = tableLine(first);
    // A longer one stands there once: repeated, it would make a small file of many short rows a large text.
    if (hasHeader && line.length <= this.#groupCharacters / 2) this.#header = line;
    else if (hasHeader) this.#push(line);
    return (hasHeader ? rows.slice(1) : rows).flatMap((row) => this.#addLine(row));
  }

  #addLine(row: string[]): ReadPart[] {
    const parts = this.#writer.length > PART_CHARACTERS ? [this.#take()] : [];
    const line = tableLine(row);
    if (this.#lines.length > 0 && this.#characters + line.length > this.#groupCharacters) this.#endGroup();
    if (this.#lines.length === 0) {
      this.#groupRow = this.#row;
      if (this.#header !== null) this.#push(this.#header);
    }
    this.#push(line);
    this.#row += 1;
    return parts;
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

  /** The document so far, without the table that is open. */
  #take(): ReadPart {
    const part = `row-${this.#partRow}`;
    const document = { ...this.#writer.finish(), title: null, metadata: {} };
    this.#writer = new TextWriter();
    this.#partRow = this.#lines.length === 0 ? this.#row : this.#groupRow;
    return { part, document };
  }
}

/** Whether the first row names the columns: different texts without numbers, in a table of more than one row. */
function isHeader(rows: readonly string[][]): boolean {
  const [first = [], ...others] = rows;
  const names = first.map((cell) => cell.trim().toLowerCase());
  if (others.length === 0 || names.some((name) => NUMBER.test(name))) return false;
  const filled = names.filter((name) => name !== '');
  if (new Set(filled).size < filled.length || filled.length < names.length / 2) return false;
  const width = Math.max(...others.map((row) => row.length));
  if (width > 1 && filled.length === 1) return false;
  if (width > 1) return true;
  // A single column: a name is shorter than what it names, or stands over numbers.
  const values = others.map(([cell = '']) => cell);
  return (
    values.every((cell) => NUMBER.test(cell)) ||
    (filled[0]?.length ?? 0) < Math.min(...values.map(({ length }) => length))
  );
}
