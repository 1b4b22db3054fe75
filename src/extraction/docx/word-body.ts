import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { ExtractedText } from '../extracted-document.ts';
import { BodyWriter } from '../office/body-writer.ts';
import { outlineToHeading } from '../office/heading-level.ts';
import type { XmlHandlers } from '../office/xml.ts';
import type { TextWriter } from '../text-writer.ts';
import type { WordLists } from './word-lists.ts';
import type { WordStyles } from './word-styles.ts';

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

interface ParagraphProperties {
  style: string | null;
  outline: number | null;
  list: string | null;
  level: number;
}

/** Elements that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = { tab: '\t', br: '\n', cr: '\n', noBreakHyphen: '-' };
/** Fallbacks for older programs, ruby annotations, deleted and moved text, former properties, page setup. */
const SKIPPED = new Set(['Fallback', 'rt', 'del', 'moveFrom', 'rPrChange', 'pPrChange', 'sectPr']);

/** Converts the XML of a document body, or of a note, to blocks. */
export class WordBody implements XmlHandlers {
  readonly #writer: TextWriter;
  readonly #body: BodyWriter<ParagraphProperties>;
  readonly #context: WordContext;
  #skippedDepth = 0;
  #isText = false;
  #isProperties = false;

  constructor(writer: TextWriter, context: WordContext) {
    this.#writer = writer;
    this.#body = new BodyWriter(writer);
    this.#context = context;
  }

  /** Handles the start of an element. */
  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (SKIPPED.has(name)) this.#skippedDepth += 1;
    if (this.#skippedDepth > 0) return;
    const character = CHARACTERS[name];
    if (name === 't' || name === 'm:t') this.#isText = true;
    else if (name === 'p') this.#body.openParagraph({ style: null, outline: null, list: null, level: 0 });
    else if (name === 'pPr') this.#isProperties = true;
    else if (name === 'tbl') this.#body.openTable();
    else if (name === 'tr') this.#body.openRow();
    else if (name === 'altChunk') this.#insertEmbedded(attributes['r:id'] ?? attributes['id'] ?? '');
    else if (name === 'footnoteReference')
      this.#body.appendNote(this.#context.notes.get(`footnote ${attributes['id']}`) ?? '');
    else if (name === 'endnoteReference')
      this.#body.appendNote(this.#context.notes.get(`endnote ${attributes['id']}`) ?? '');
    else if (this.#isProperties) this.#setProperty(name, attributes['val'] ?? '');
    else if (character !== undefined) this.#body.append(character);
  }

  /** Handles the end of an element. */
  close(name: string): void {
    if (SKIPPED.has(name)) this.#skippedDepth -= 1;
    if (this.#skippedDepth > 0) return;
    if (name === 't' || name === 'm:t') this.#isText = false;
    else if (name === 'pPr') this.#isProperties = false;
    else if (name === 'p') this.#body.closeParagraph((text, paragraph) => this.#writeParagraph(text, paragraph));
    else if (name === 'tc') this.#body.closeCell();
    else if (name === 'tbl') this.#body.closeTable();
  }

  /** Handles character data: only that of `t` elements is text of the document. */
  text(text: string): void {
    if (this.#isText && this.#skippedDepth === 0) this.#body.append(text);
  }

  #setProperty(name: string, value: string): void {
    const paragraph = this.#body.properties;
    if (paragraph === undefined) return;
    if (name === 'pStyle') paragraph.style = value;
    else if (name === 'outlineLvl') paragraph.outline = Number(value);
    else if (name === 'numId') paragraph.list = value;
    else if (name === 'ilvl') paragraph.level = Math.min(Number(value) || 0, MAX_LIST_LEVEL);
  }

  #insertEmbedded(id: string): void {
    const embedded = this.#context.embedded.get(id);
    if (embedded === undefined || this.#body.appendToCell(collapseWhitespace(embedded.text))) return;
    for (const { kind, start, end, ...place } of embedded.blocks)
      this.#writer.write(kind, embedded.text.slice(start, end), place);
  }

  #writeParagraph(text: string, paragraph: ParagraphProperties): void {
    const outline = paragraph.outline === null ? null : outlineToHeading(paragraph.outline);
    const level = outline ?? this.#context.styles.headingLevel(paragraph.style);
    // List 0 removes a paragraph from the list of its style.
    const list = paragraph.list ?? this.#context.styles.listId(paragraph.style);
    if (level !== null) this.#writer.write('heading', text.replace(/\s+/g, ' '), { level });
    else if (list !== null && list !== '0')
      this.#writer.write('list-item', this.#context.lists.nextMarker(list, paragraph.level) + text);
    else this.#writer.write('paragraph', text);
  }
}
