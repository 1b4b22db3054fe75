import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { Extraction, ReaderInput } from '../extracted-document.ts';
import { normalizeTitle } from '../flatten-metadata.ts';
import { invalidFile, tooLarge } from '../limits.ts';
import { checkOpenDocument, readOpenDocument } from '../office/open-document.ts';
import type { XmlHandlers } from '../office/xml.ts';
import { checkTextLength } from '../text-writer.ts';
import { listItem, type Slide, type SlideShape, slideTable, writeSlides } from './write-slides.ts';

const MAX_SLIDES = 5_000;
const INCHES: Readonly<Record<string, number>> = {
  in: 1,
  cm: 1 / 2.54,
  mm: 1 / 25.4,
  pt: 1 / 72,
  pc: 1 / 6,
  px: 1 / 96,
};
/** Elements that stand for white space. */
const SPACES: ReadonlySet<string> = new Set(['s', 'tab', 'line-break']);
/** Shapes that may contain text. */
const SHAPES: ReadonlySet<string> = new Set([
  ...['frame', 'custom-shape', 'rect', 'ellipse', 'circle', 'polygon', 'path', 'line', 'connector', 'caption'],
]);
/** Presentation classes of shapes that repeat on every slide. */
const REPEATED: ReadonlySet<string> = new Set(['header', 'footer', 'date-time', 'page-number', 'page']);

/**
 * Reads an OpenDocument presentation: slides in order as pages, hidden ones too, with title, lists, tables and speaker
 * notes. Skips comments, charts, footers and slide numbers.
 */
export async function* readOdp(input: ReaderInput): AsyncGenerator<Extraction> {
  const pages = new Pages();
  const { isComplete, metadata } = await readOpenDocument(input, 'presentation', pages);
  const text = writeSlides(pages.slides);
  if (!isComplete && text.text === '') throw invalidFile('The presentation is damaged: it ends before any text.');
  const { title, ...properties } = metadata;
  yield { part: '', document: { ...text, title: normalizeTitle(title), metadata: properties } };
}

/** Throws as `readOdp` does for damaged files. */
export function checkOdp(input: ReaderInput): Promise<void> {
  return checkOpenDocument(input, 'presentation');
}

/** Handlers of `content.xml`: https://docs.oasis-open.org/office/OpenDocument/v1.3/ */
class Pages implements XmlHandlers {
  readonly slides: Slide[] = [];
  #slide: Slide | null = null;
  /** Open shapes: frames nest. */
  readonly #shapes: (SlideShape & { isSkipped: boolean })[] = [];
  #listLevel = 0;
  #text: string | null = null;
  #rows: string[][] | null = null;
  #cell: string[] | null = null;
  #notesDepth = 0;
  #commentDepth = 0;
  #characters = 0;

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'page') this.#openSlide();
    else if (name === 'annotation') this.#commentDepth += 1;
    else if (name === 'notes') this.#notesDepth += 1;
    else if (SHAPES.has(name)) this.#shapes.push({ ...parseShape(attributes), texts: [] });
    else if (name === 'list') this.#listLevel += 1;
    else if (name === 'table') this.#rows = [];
    else if (name === 'table-row') this.#rows?.push([]);
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#cell = [];
    else if ((name === 'p' || name === 'h') && this.#commentDepth === 0) this.#text = '';
    else if (SPACES.has(name)) this.text(' ');
  }

  text(text: string): void {
    if (this.#text !== null && this.#commentDepth === 0) this.#text += text;
  }

  close(name: string): void {
    if (name === 'page') this.#slide = null;
    else if (name === 'annotation') this.#commentDepth -= 1;
    else if (name === 'notes') this.#notesDepth -= 1;
    else if (SHAPES.has(name)) this.#closeShape();
    else if (name === 'list') this.#listLevel -= 1;
    else if (name === 'table') this.#closeTable();
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
    else if (name === 'p' || name === 'h') this.#closeParagraph();
  }

  #openSlide(): void {
    if (this.slides.length >= MAX_SLIDES) throw tooLarge(`it has more than ${MAX_SLIDES.toLocaleString('en')} slides`);
    this.#slide = { shapes: [], notes: [] };
    this.slides.push(this.#slide);
  }

  #closeParagraph(): void {
    if (this.#commentDepth > 0) return;
    const text = collapseWhitespace(this.#text ?? '');
    this.#text = null;
    const shape = this.#shapes.at(-1);
    if (text === '' || shape === undefined) return;
    this.#characters += text.length;
    checkTextLength(this.#characters);
    if (this.#cell !== null) this.#cell.push(text);
    else if (this.#listLevel > 0 && shape.role !== 'title' && this.#notesDepth === 0)
      shape.texts.push(listItem(text, this.#listLevel - 1));
    else shape.texts.push({ kind: 'paragraph', text });
  }

  #closeCell(): void {
    this.#rows?.at(-1)?.push((this.#cell ?? []).join(' '));
    this.#cell = null;
  }

  #closeTable(): void {
    const table = slideTable(this.#rows ?? []);
    if (table !== null) this.#shapes.at(-1)?.texts.push(table);
    this.#rows = null;
  }

  #closeShape(): void {
    const shape = this.#shapes.pop();
    if (shape === undefined || shape.isSkipped || shape.texts.length === 0 || this.#slide === null) return;
    if (this.#notesDepth > 0) this.#slide.notes.push(...shape.texts.map(({ text }) => text));
    else this.#slide.shapes.push(shape);
  }
}

function parseShape({ x, y, class: kind = '' }: Readonly<Record<string, string>>) {
  return {
    role: kind === 'title' ? ('title' as const) : ('other' as const),
    position: x === undefined || y === undefined ? null : { x: parseLength(x), y: parseLength(y) },
    isSkipped: REPEATED.has(kind),
  };
}

function parseLength(length: string): number {
  const [, number, unit = ''] = /^(-?[\d.]+)([a-z]+)$/.exec(length) ?? [];
  return Number(number ?? 0) * (INCHES[unit] ?? 1) || 0;
}
