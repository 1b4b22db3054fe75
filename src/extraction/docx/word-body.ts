import { cleanText, collapseWhitespace } from '../../lib/clean-text.ts';
import type { ExtractedText } from '../extracted-document.ts';
import type { XmlHandlers } from '../office/xml.ts';
import { formatTableRow, type TextWriter } from '../text-writer.ts';
import type { WordLists } from './word-lists.ts';
import { outlineToHeading, type WordStyles } from './word-styles.ts';

/** Deepest list level of Word. */
const MAX_LIST_LEVEL = 8;

/** Parts of a document that its body refers to. */
export interface WordContext {
  styles: WordStyles;
  lists: WordLists;
  /** Texts of footnotes and endnotes by `footnote 1`, `endnote 2`. */
  notes: ReadonlyMap<string, string>;
  /** Embedded documents by relationship id. */
  embedded: ReadonlyMap<string, ExtractedText>;
}

interface Paragraph {
  text: string[];
  style: string | null;
  outline: number | null;
  list: string | null;
  level: number;
}

/** An open table: its rows so far, and the texts of the current cell. */
interface OpenTable {
  rows: string[][];
  cell: string[];
}

/** Elements that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = { tab: '\t', br: '\n', cr: '\n', noBreakHyphen: '-' };
/** Fallbacks for older programs, ruby annotations, deleted and moved text, former properties, page setup. */
const SKIPPED = new Set(['Fallback', 'rt', 'del', 'moveFrom', 'rPrChange', 'pPrChange', 'sectPr']);

/** Converts the XML of a document body, or of a note, to blocks. */
export class WordBody implements XmlHandlers {
  readonly #writer: TextWriter;
  readonly #context: WordContext;
  /** Open paragraphs: text boxes nest. */
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: OpenTable[] = [];
  /** Notes referenced since the last block. */
  #notes: string[] = [];
  #noteCount = 0;
  #skippedDepth = 0;
  #isText = false;
  #isProperties = false;

  constructor(writer: TextWriter, context: WordContext) {
    this.#writer = writer;
    this.#context = context;
  }

  /** Handles the start of an element. */
  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (SKIPPED.has(name)) this.#skippedDepth += 1;
    if (this.#skippedDepth > 0) return;
    const character = CHARACTERS[name];
    if (name === 't' || name === 'm:t') this.#isText = true;
    else if (name === 'p') this.#paragraphs.push({ text: [], style: null, outline: null, list: null, level: 0 });
    else if (name === 'pPr') this.#isProperties = true;
    else if (name === 'tbl') this.#tables.push({ rows: [], cell: [] });
    else if (name === 'tr') this.#tables.at(-1)?.rows.push([]);
    else if (name === 'altChunk') this.#insertEmbedded(attributes['r:id'] ?? attributes['id'] ?? '');
    else if (name === 'footnoteReference') this.#referNote(`footnote ${attributes['id']}`);
    else if (name === 'endnoteReference') this.#referNote(`endnote ${attributes['id']}`);
    else if (this.#isProperties) this.#setProperty(name, attributes['val'] ?? '');
    else if (character !== undefined) this.#paragraphs.at(-1)?.text.push(character);
  }

  /** Handles the end of an element. */
  close(name: string): void {
    if (SKIPPED.has(name)) this.#skippedDepth -= 1;
    if (this.#skippedDepth > 0) return;
    if (name === 't' || name === 'm:t') this.#isText = false;
    else if (name === 'pPr') this.#isProperties = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tc') this.#endCell();
    else if (name === 'tbl') this.#endTable();
  }

  /** Handles character data: only that of `t` elements is text of the document. */
  text(text: string): void {
    if (this.#isText && this.#skippedDepth === 0) this.#paragraphs.at(-1)?.text.push(text);
  }

  #setProperty(name: string, value: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph === undefined) return;
    if (name === 'pStyle') paragraph.style = value;
    else if (name === 'outlineLvl') paragraph.outline = Number(value);
    else if (name === 'numId') paragraph.list = value;
    else if (name === 'ilvl') paragraph.level = Math.min(Number(value) || 0, MAX_LIST_LEVEL);
  }

  #referNote(note: string): void {
    const text = this.#context.notes.get(note);
    if (text === undefined || text === '') return;
    this.#noteCount += 1;
    this.#paragraphs.at(-1)?.text.push(`[${this.#noteCount}]`);
    this.#notes.push(`[${this.#noteCount}] ${text}`);
  }

  #insertEmbedded(id: string): void {
    const embedded = this.#context.embedded.get(id);
    if (embedded === undefined) return;
    const table = this.#tables.at(-1);
    if (table !== undefined) table.cell.push(collapseWhitespace(embedded.text));
    else
      for (const { kind, start, end, ...place } of embedded.blocks)
        this.#writer.write(kind, embedded.text.slice(start, end), place);
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
    const outline = paragraph.outline === null ? null : outlineToHeading(paragraph.outline);
    const level = outline ?? this.#context.styles.headingLevel(paragraph.style);
    // List 0 removes a paragraph from the list of its style.
    const list = paragraph.list ?? this.#context.styles.listId(paragraph.style);
    if (level !== null) this.#writer.write('heading', text.replace(/\s+/g, ' '), { level });
    else if (list !== null && list !== '0')
      this.#writer.write('list-item', this.#context.lists.nextMarker(list, paragraph.level) + text);
    else this.#writer.write('paragraph', text);
    this.#writeNotes();
  }

  #endCell(): void {
    const table = this.#tables.at(-1);
    table?.rows.at(-1)?.push(table.cell.join(' '));
    if (table !== undefined) table.cell = [];
  }

  /** Writes a table; a nested one becomes text of the outer cell. */
  #endTable(): void {
    const table = this.#tables.pop();
    if (table === undefined) return;
    const lines = table.rows.filter((cells) => cells.some((cell) => cell !== '')).map(formatTableRow);
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
