import { isHeader } from '../sheets/sheet-documents.ts';
import { formatTableRow } from '../text-writer.ts';
import type { TextLine } from './page-text.ts';

/** A block of a table. */
interface TableBlock {
  kind: 'table';
  text: string;
  page: number;
}

/** Writes the rows of tables as blocks of about one chunk. Each repeats the header, also on the next pages. */
export class TableBlocks {
  readonly #characters: number;
  /** The last row of the last table, and its header. */
  #last: TextLine | null = null;
  #header: string | null = null;

  constructor(characters: number) {
    this.#characters = characters;
  }

  /** Returns the blocks of a table's rows on one page. */
  build(lines: readonly TextLine[]): TableBlock[] {
    const rows = lines.map(({ cells }) => formatTableRow(cells));
    const [first] = lines;
    const continues = first !== undefined && this.#continues(first);
    if (isHeader(lines.map(({ cells }) => cells)) && !(continues && rows[0] === this.#header)) {
      this.#header = rows.shift() ?? null;
    } else if (!continues) this.#header = null;
    else if (rows[0] === this.#header) rows.shift();
    this.#last = lines.at(-1) ?? null;
    // A longer header is not repeated, as in sheets.
    const repeated = this.#header !== null && this.#header.length <= this.#characters / 2 ? this.#header : null;
    const groups: string[][] = [];
    let characters = 0;
    for (const row of rows) {
      const group = groups.at(-1);
      if (group === undefined || characters + row.length > this.#characters) {
        const header = groups.length === 0 ? this.#header : repeated;
        groups.push(header === null ? [row] : [header, row]);
        characters = row.length + (header?.length ?? 0);
      } else {
        group.push(row);
        characters += row.length;
      }
    }
    return groups.map((group) => ({ kind: 'table', text: group.join('\n'), page: first?.page ?? 1 }));
  }

  /** Whether a row on the next page has the columns of the last table. */
  #continues({ page, cells, x0, x1 }: TextLine): boolean {
    const last = this.#last;
    return (
      last !== null && page === last.page + 1 && cells.length === last.cells.length && x0 < last.x1 && x1 > last.x0
    );
  }
}
