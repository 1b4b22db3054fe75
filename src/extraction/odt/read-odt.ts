import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { normalizeTitle } from '../flatten-metadata.ts';
import { invalidFile } from '../limits.ts';
import { BodyWriter } from '../office/body-writer.ts';
import { headingLevelByName } from '../office/heading-level.ts';
import { checkOpenDocument, readOpenDocument } from '../office/open-document.ts';
import type { XmlHandlers } from '../office/xml.ts';
import { TextWriter } from '../text-writer.ts';

/** Maximum length of a chain of parent styles. */
const MAX_PARENTS = 20;
/** Deepest list level of OpenDocument. */
const MAX_LIST_LEVEL = 9;
/** Maximum of repeated spaces, which can be declared without being written. */
const MAX_SPACES = 100;
/** Comments, deleted text, ruby annotations, labels of notes, descriptions of pictures, the table of contents. */
const SKIPPED: ReadonlySet<string> = new Set(
  'annotation tracked-changes ruby-text note-citation svg:title svg:desc table-of-content forms'.split(' '),
);

type Attributes = Readonly<Record<string, string>>;

/** An open list. `isNew`: the next paragraph begins an item. */
interface OpenList {
  style: string;
  count: number;
  isNew: boolean;
}

interface ParagraphProperties {
  headingLevel: number | null;
  /** Marker of a list item with its indentation; null outside of lists. */
  marker: string | null;
}

/**
 * Reads an OpenDocument text: headings, numbered lists, tables as lines, notes after the paragraph that refers to them.
 * Skips page headers and footers, comments, deleted text and the table of contents.
 */
export async function* readOdt(input: ReaderInput): AsyncGenerator<Extraction> {
  const writer = new TextWriter();
  const styles = new OdtStyles();
  const body = new OdtBody(writer, styles);
  const openStyle = (name: string, attributes: Attributes) => styles.open(name, attributes);
  const { isComplete, metadata } = await readOpenDocument(input, 'text', body, openStyle);
  // A truncated document is accepted as far as it has text.
  if (!isComplete && writer.length === 0) throw invalidFile('The document is damaged: it ends before any text.');
  const { title, ...properties } = metadata;
  yield { part: '', document: { ...writer.finish(), title: normalizeTitle(title), metadata: properties } };
}

/** Throws as `readOdt` does for damaged files. */
export function checkOdt(input: ReaderInput): Promise<void> {
  return checkOpenDocument(input, 'text');
}

/** Definitions of paragraph styles and of lists. */
class OdtStyles {
  readonly #parents = new Map<string, string>();
  /** Numbered levels, such as `Numbering_20_1 2`. */
  readonly #numbered = new Set<string>();
  #list = '';

  open(name: string, attributes: Attributes): void {
    if (name === 'style') this.#parents.set(attributes['name'] ?? '', attributes['parent-style-name'] ?? '');
    else if (name === 'list-style') this.#list = attributes['name'] ?? '';
    else if (name === 'list-level-style-number' && attributes['num-format'])
      this.#numbered.add(`${this.#list} ${attributes['level']}`);
  }

  isNumbered(list: string, level: number): boolean {
    return this.#numbered.has(`${list} ${level}`);
  }

  /** Level of a paragraph that is no heading by its element, but has the style of a title or heading. */
  headingLevel(style: string): number | null {
    let name = style;
    for (let i = 0; name !== '' && i < MAX_PARENTS; i++) {
      const level = headingLevelByName(name.replaceAll('_20_', ' '));
      if (level !== null) return level;
      name = this.#parents.get(name) ?? '';
    }
    return null;
  }
}

/** Handlers of `content.xml`: https://docs.oasis-open.org/office/OpenDocument/v1.3/ */
class OdtBody implements XmlHandlers {
  readonly #styles: OdtStyles;
  #body: BodyWriter<ParagraphProperties>;
  /** The note that is read, and the body that refers to it. */
  #note: { writer: TextWriter; outer: BodyWriter<ParagraphProperties> } | null = null;
  readonly #lists: OpenList[] = [];
  /** Items of earlier lists by style, for lists that continue their numbering. */
  readonly #counts = new Map<string, number>();
  #skippedDepth = 0;

  constructor(writer: TextWriter, styles: OdtStyles) {
    this.#body = new BodyWriter(writer);
    this.#styles = styles;
  }

  open(name: string, attributes: Attributes): void {
    if (SKIPPED.has(name)) this.#skippedDepth += 1;
    if (this.#skippedDepth > 0) return;
    if (name === 'p' || name === 'h') this.#body.openParagraph(this.#properties(name, attributes));
    else if (name === 'list') this.#openList(attributes);
    else if (name === 'list-item') this.#openItem(attributes);
    else if (name === 'table') this.#body.openTable();
    else if (name === 'table-row') this.#body.openRow();
    else if (name === 'note-body') this.#openNote();
    else if (name === 's') this.#body.append(' '.repeat(Math.min(Number(attributes['c'] ?? 1) || 1, MAX_SPACES)));
    else if (name === 'tab') this.#body.append('\t');
    else if (name === 'line-break') this.#body.append('\n');
  }

  text(text: string): void {
    if (this.#skippedDepth === 0) this.#body.append(text);
  }

  close(name: string): void {
    if (SKIPPED.has(name)) this.#skippedDepth -= 1;
    if (this.#skippedDepth > 0) return;
    if (name === 'p' || name === 'h') this.#body.closeParagraph(writeParagraph);
    else if (name === 'list') this.#closeList();
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#body.closeCell();
    else if (name === 'table') this.#body.closeTable();
    else if (name === 'note-body') this.#closeNote();
  }

  #properties(name: string, attributes: Attributes): ParagraphProperties {
    const outline = Number(attributes['outline-level'] ?? 1) || 1;
    const headingLevel = name === 'h' ? outline : this.#styles.headingLevel(attributes['style-name'] ?? '');
    const list = this.#lists.at(-1);
    if (list === undefined) return { headingLevel, marker: null };
    const level = Math.min(this.#lists.length, MAX_LIST_LEVEL);
    const sign = this.#styles.isNumbered(list.style, level) ? `${list.count}. ` : '- ';
    // Further paragraphs of the item are indented.
    const marker = '  '.repeat(level - 1) + (list.isNew ? sign : ' '.repeat(sign.length));
    list.isNew = false;
    return { headingLevel, marker };
  }

  #openList(attributes: Attributes): void {
    const style = attributes['style-name'] ?? this.#lists.at(-1)?.style ?? '';
    const isContinued = attributes['continue-numbering'] === 'true' || attributes['continue-list'] !== undefined;
    this.#lists.push({ style, count: isContinued ? (this.#counts.get(style) ?? 0) : 0, isNew: false });
  }

  #openItem(attributes: Attributes): void {
    const list = this.#lists.at(-1);
    if (list === undefined) return;
    list.count = Number(attributes['start-value'] ?? list.count + 1) || 1;
    list.isNew = true;
  }

  #closeList(): void {
    const list = this.#lists.pop();
    if (list !== undefined) this.#counts.set(list.style, list.count);
  }

  #openNote(): void {
    if (this.#note !== null) return;
    const writer = new TextWriter();
    this.#note = { writer, outer: this.#body };
    this.#body = new BodyWriter(writer);
  }

  #closeNote(): void {
    if (this.#note === null) return;
    const { writer, outer } = this.#note;
    outer.appendNote(collapseWhitespace(writer.finish().text));
    this.#body = outer;
    this.#note = null;
  }
}

function writeParagraph(text: string, { headingLevel, marker }: ParagraphProperties, writer: TextWriter): void {
  if (headingLevel !== null) writer.write('heading', text.replace(/\s+/g, ' '), { level: headingLevel });
  else if (marker !== null) writer.write('list-item', marker + text);
  else writer.write('paragraph', text);
}
