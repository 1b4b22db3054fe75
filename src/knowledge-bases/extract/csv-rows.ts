import { invalidFile } from './bounds.ts';

/** Characters of a cell. A longer one is a quote that was never closed. */
const MAX_CELL_CHARACTERS = 1_048_576;
/** What may lie between cells, the most usual first. */
const DELIMITERS = [',', ';', '\t', '|'];
/** Rows by which the delimiter is told. */
const SNIFFED_ROWS = 64;

/**
 * Cuts CSV (RFC 4180) into rows of cells, as it comes in pieces. Cells in quotes may hold delimiters, line ends and, doubled, quotes; a
 * quote inside a cell without them stands for itself. Lines end in LF, CR LF or CR; empty ones are no rows.
 */
export class CsvRows {
  readonly #delimiter: string;
  readonly #special: RegExp;
  #row: string[] = [];
  #cell = '';
  #isQuoted = false;
  #wasQuoted = false;
  /** What a piece ended with that the next one decides about: a quote, or CR. */
  #left = '';

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
    this.#special = new RegExp(`[\\n\\r${delimiter === '|' ? '\\|' : delimiter}]`, 'g');
  }

  /** The rows that the piece completes. Throws `invalid_file` for a cell without end. */
  push(piece: string): string[][] {
    const text = this.#left + piece;
    this.#left = '';
    const rows: string[][] = [];
    let at = 0;
    while (at < text.length) at = this.#isQuoted ? this.#quoted(text, at) : this.#plain(text, at, rows);
    return rows;
  }

  /** The last row, where no line end is behind it. */
  end(): string[][] {
    const rows: string[][] = [];
    if (this.#left === '\r') this.#endRow(rows);
    this.#left = '';
    this.#endRow(rows);
    return rows;
  }

  #plain(text: string, from: number, rows: string[][]): number {
    if (text[from] === '"' && this.#cell.trim() === '' && !this.#wasQuoted) {
      this.#cell = '';
      this.#isQuoted = true;
      this.#wasQuoted = true;
      return from + 1;
    }
    this.#special.lastIndex = from;
    const at = this.#special.exec(text)?.index ?? text.length;
    const quote =
      this.#cell === '' && !this.#wasQuoted ? /^[ ]+(?=")/.exec(text.slice(from, Math.min(at, from + 64))) : null;
    if (quote !== null) return from + quote[0].length;
    this.#add(text.slice(from, at));
    if (at === text.length) return at;
    if (text[at] === this.#delimiter) {
      this.#endCell();
      return at + 1;
    }
    if (text[at] === '\r' && at + 1 === text.length) {
      this.#left = '\r';
      return text.length;
    }
    this.#endRow(rows);
    return text[at] === '\r' && text[at + 1] === '\n' ? at + 2 : at + 1;
  }

  #quoted(text: string, from: number): number {
    const at = text.indexOf('"', from);
    this.#add(text.slice(from, at === -1 ? text.length : at));
    if (at === -1) return text.length;
    if (at + 1 === text.length) {
      // Only the next piece says whether it is doubled.
      this.#left = '"';
      return text.length;
    }
    if (text[at + 1] === '"') {
      this.#add('"');
      return at + 2;
    }
    this.#isQuoted = false;
    return at + 1;
  }

  #add(text: string): void {
    this.#cell += text;
    if (this.#cell.length > MAX_CELL_CHARACTERS) {
      throw invalidFile(
        `A cell has more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters: a quote may not be closed.`,
      );
    }
  }

  #endCell(): void {
    this.#row.push(this.#wasQuoted ? this.#cell : this.#cell.trim());
    this.#cell = '';
    this.#wasQuoted = false;
    this.#isQuoted = false;
  }

  #endRow(rows: string[][]): void {
    this.#endCell();
    if (this.#row.some((cell) => cell.trim() !== '')) rows.push(this.#row);
    this.#row = [];
  }
}

/** The delimiter with which the beginning of a file falls into rows of the same number of cells, more than one. */
export function delimiterOf(head: string): string {
  let best = { delimiter: ',', score: 0 };
  for (const delimiter of DELIMITERS) {
    const score = regularity(head, delimiter);
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** How regular the rows are: the share of them with the most usual number of cells, 0 where that is one. */
function regularity(head: string, delimiter: string): number {
  const counts = new Map<number, number>();
  const rows = rowsOf(head, delimiter).slice(0, SNIFFED_ROWS);
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  let [cells, most] = [1, 0];
  for (const [length, count] of counts)
    if (count > most || (count === most && length > cells)) [cells, most] = [length, count];
  // Of two that are as regular, the one that makes more cells; never enough to make up for a share.
  return cells < 2 ? 0 : most / rows.length + Math.min(cells, 50) / 1000;
}

/** The whole rows of a beginning. */
function rowsOf(head: string, delimiter: string): string[][] {
  const parser = new CsvRows(delimiter);
  try {
    const rows = parser.push(head);
    return rows.length === 0 ? parser.end() : rows;
  } catch {
    return [];
  }
}
