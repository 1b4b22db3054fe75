import { cleanText } from '../../lib/clean-text.ts';
import { formatTableRow, type TextWriter } from '../text-writer.ts';

/** An open table: its rows so far, and the texts of the current cell. */
interface OpenTable {
  rows: string[][];
  cell: string[];
}

/**
 * Writes the body of a word processor's document: paragraphs, which nest in text boxes; tables as lines, a nested one
 * as text of its cell; notes after the paragraph or table that refers to them.
 */
export class BodyWriter<Properties> {
  readonly #writer: TextWriter;
  readonly #paragraphs: { text: string[]; properties: Properties }[] = [];
  readonly #tables: OpenTable[] = [];
  /** Notes referenced since the last block. */
  #notes: string[] = [];
  #noteCount = 0;

  constructor(writer: TextWriter) {
    this.#writer = writer;
  }

  /** Properties of the innermost open paragraph. */
  get properties(): Properties | undefined {
    return this.#paragraphs.at(-1)?.properties;
  }

  /** Whether a table is open. */
  get isInTable(): boolean {
    return this.#tables.length > 0;
  }

  /** Begins a paragraph. */
  openParagraph(properties: Properties): void {
    this.#paragraphs.push({ text: [], properties });
  }

  /** Appends text to the innermost open paragraph; ignored without one. */
  append(text: string): void {
    this.#paragraphs.at(-1)?.text.push(text);
  }

  /** Appends text to the current cell. Returns false outside of tables. */
  appendToCell(text: string): boolean {
    const table = this.#tables.at(-1);
    table?.cell.push(text);
    return table !== undefined;
  }

  /** Appends the mark of a note to the paragraph; the note follows the block. */
  appendNote(text: string): void {
    if (text === '') return;
    this.#noteCount += 1;
    this.append(`[${this.#noteCount}]`);
    this.#notes.push(`[${this.#noteCount}] ${text}`);
  }

  /** Ends the innermost paragraph. Calls `write` with its text, unless that is blank or belongs to a cell. */
  closeParagraph(write: (text: string, properties: Properties, writer: TextWriter) => void): void {
    const paragraph = this.#paragraphs.pop();
    const text = cleanText(paragraph?.text.join('') ?? '')
      .replaceAll('\u00ad', '')
      .trim();
    if (paragraph === undefined || text === '' || this.appendToCell(text)) return;
    write(text, paragraph.properties, this.#writer);
    this.#writeNotes();
  }

  /** Begins a table. */
  openTable(): void {
    this.#tables.push({ rows: [], cell: [] });
  }

  /** Begins a row of the innermost table. */
  openRow(): void {
    this.#tables.at(-1)?.rows.push([]);
  }

  /** Ends a cell. */
  closeCell(): void {
    const table = this.#tables.at(-1);
    table?.rows.at(-1)?.push(table.cell.join(' '));
    if (table !== undefined) table.cell = [];
  }

  /** Ends the innermost table and writes it. */
  closeTable(): void {
    const table = this.#tables.pop();
    if (table === undefined) return;
    const lines = table.rows.filter((cells) => cells.some((cell) => cell !== '')).map(formatTableRow);
    if (this.appendToCell(lines.join('; '))) return;
    this.#writer.write('table', lines.join('\n'));
    this.#writeNotes();
  }

  #writeNotes(): void {
    for (const note of this.#notes) this.#writer.write('paragraph', note);
    this.#notes = [];
  }
}
