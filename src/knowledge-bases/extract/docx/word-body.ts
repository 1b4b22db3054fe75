import { cleanText, inOneLine } from '../../../lib/clean-text.ts';
import type { ExtractedText } from '../extracted-text.ts';
import { type TextWriter, tableLine } from '../text-writer.ts';
import type { WordLists } from './word-lists.ts';
import type { WordStyles } from './word-styles.ts';
import type { XmlHandlers } from './xml.ts';

/** Deepest level of a list, as Word has it. */
const MAX_LIST_LEVEL = 8;

/** What the body of a document refers to. */
export interface WordContext {
  styles: WordStyles;
  lists: WordLists;
  /** Texts of footnotes and endnotes by `footnote 1`, `endnote 2`. */
  notes: ReadonlyMap<string, string>;
  /** Texts in other formats that stand in it, by the ids of their relations. */
  chunks: ReadonlyMap<string, ExtractedText>;
}

interface Paragraph {
  text: string[];
  style: string | null;
  outline: number | null;
  list: string | null;
  level: number;
}

/** A table that is open: its rows so far, and the texts of the cell that is. */
interface Table {
  rows: string[][];
  cell: string[];
}

/** What stands for a text that is none itself. */
const SIGNS: Readonly<Record<string, string>> = { tab: '\t', br: '\n', cr: '\n', noBreakHyphen: '-' };
/** What is read elsewhere, is there twice, or was deleted. */
const SKIPPED = new Set(['Fallback', 'rt', 'del', 'moveFrom', 'rPrChange', 'pPrChange', 'sectPr']);

/** Writes the body of a Word document, or the texts of its notes, as it is read. */
export class WordBody implements XmlHandlers {
  readonly #writer: TextWriter;
  readonly #context: WordContext;
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: Table[] = [];
  /** Notes that were referred to since the last part was written. */
  #notes: string[] = [];
  #noteCount = 0;
  #skipped = 0;
  #isText = false;
  #isProperties = false;

  constructor(writer: TextWriter, context: WordContext) {
    this.#writer = writer;
    this.#context = context;
  }

  /** An element begins. */
  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (SKIPPED.has(name)) this.#skipped += 1;
    if (this.#skipped > 0) return;
    const sign = SIGNS[name];
    if (name === 't' || name === 'm:t') this.#isText = true;
    else if (name === 'p') this.#paragraphs.push({ text: [], style: null, outline: null, list: null, level: 0 });
    else if (name === 'pPr') this.#isProperties = true;
    else if (name === 'tbl') this.#tables.push({ rows: [], cell: [] });
    else if (name === 'tr') this.#tables.at(-1)?.rows.push([]);
    else if (name === 'altChunk') this.#insert(attributes['id'] ?? '');
    else if (name === 'footnoteReference') this.#refer(`footnote ${attributes['id']}`);
    else if (name === 'endnoteReference') this.#refer(`endnote ${attributes['id']}`);
    else if (this.#isProperties) this.#property(name, attributes['val'] ?? '');
    else if (sign !== undefined) this.#paragraphs.at(-1)?.text.push(sign);
  }

  /** An element ends. */
  close(name: string): void {
    if (SKIPPED.has(name)) this.#skipped -= 1;
    if (this.#skipped > 0) return;
    if (name === 't' || name === 'm:t') this.#isText = false;
    else if (name === 'pPr') this.#isProperties = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tc') this.#endCell();
    else if (name === 'tbl') this.#endTable();
  }

  /** Text, of which only that in `t` is the document's. */
  text(text: string): void {
    if (this.#isText && this.#skipped === 0) this.#paragraphs.at(-1)?.text.push(text);
  }

  #property(name: string, value: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined) return;
    if (name === 'pStyle') paragraph.style = value;
    else if (name === 'outlineLvl') paragraph.outline = Number(value);
    else if (name === 'numId') paragraph.list = value;
    else if (name === 'ilvl') paragraph.level = Math.min(Number(value) || 0, MAX_LIST_LEVEL);
  }

  #refer(note: string): void {
    const text = this.#context.notes.get(note);
    if (text === undefined || text === '') return;
    this.#noteCount += 1;
    this.#paragraphs.at(-1)?.text.push(`[${this.#noteCount}]`);
    this.#notes.push(`[${this.#noteCount}] ${text}`);
  }

  #insert(id: string): void {
    const chunk = this.#context.chunks.get(id);
    if (chunk === undefined) return;
    const table = this.#tables.at(-1);
    if (table !== undefined) table.cell.push(inOneLine(chunk.text));
    else
      for (const { kind, start, end, ...place } of chunk.blocks)
        this.#writer.write(kind, chunk.text.slice(start, end), place);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (paragraph === undefined) return;
    const text = cleanText(paragraph.text.join('')).replaceAll('\u00ad', '').trim();
    if (text === '') return;
    const table = this.#tables.at(-1);
    if (table !== undefined) {
      table.cell.push(text);
      return;
    }
    const outline = paragraph.outline !== null && paragraph.outline < 9 ? Math.min(paragraph.outline + 1, 6) : null;
    const level = outline ?? this.#context.styles.headingLevel(paragraph.style);
    // List 0 takes a paragraph out of the list of its style.
    const list = paragraph.list ?? this.#context.styles.numberingOf(paragraph.style);
    if (level !== null) this.#writer.write('heading', text.replace(/\s+/g, ' '), { level });
    else if (list !== null && list !== '0')
      this.#writer.write('list-item', this.#context.lists.signOf(list, paragraph.level) + text);
    else this.#writer.write('paragraph', text);
    this.#writeNotes();
  }

  #endCell(): void {
    const table = this.#tables.at(-1);
    table?.rows.at(-1)?.push(table.cell.join(' '));
    if (table !== undefined) table.cell = [];
  }

  /** A table in a cell of another is a text of that cell. */
  #endTable(): void {
    const table = this.#tables.pop();
    if (table === undefined) return;
    const lines = table.rows.filter((cells) => cells.some((cell) => cell !== '')).map(tableLine);
    const outer = this.#tables.at(-1);
    if (outer !== undefined) {
      outer.cell.push(lines.join('; '));
      return;
    }
    this.#writer.write('table', lines.join('\n'));
    this.#writeNotes();
  }

  #writeNotes(): void {
    for (const note of this.#notes) this.#writer.write('paragraph', note);
    this.#notes = [];
  }
}
