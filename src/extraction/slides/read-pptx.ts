import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../extracted-document.ts';
import { normalizeTitle } from '../flatten-metadata.ts';
import { invalidFile, tooLarge } from '../limits.ts';
import type { Archive } from '../office/archive.ts';
import {
  checkOffice,
  findMainPart,
  type OfficeKind,
  readProperties,
  readRelationships,
  requireRoot,
  withArchive,
} from '../office/office-package.ts';
import { readXml, type XmlHandlers } from '../office/xml.ts';
import { checkTextLength } from '../text-writer.ts';
import { listItem, type Slide, type SlideShape, slideTable, writeSlides } from './write-slides.ts';

const PRESENTATION: OfficeKind = {
  name: 'a PowerPoint presentation',
  root: 'presentation',
  main: 'ppt/presentation.xml',
};
const MAX_SLIDES = 5_000;
const EMU_PER_INCH = 914_400;
const TITLES: ReadonlySet<string> = new Set(['title', 'ctrTitle']);
/** Placeholders that repeat on every slide. */
const REPEATED: ReadonlySet<string> = new Set(['dt', 'ftr', 'hdr', 'sldNum', 'sldImg']);
/** Placeholders whose paragraphs are bullets unless they say otherwise; `obj` is the default type. */
const BULLETED: ReadonlySet<string> = new Set(['body', 'obj']);

type Position = { x: number; y: number };
/** Positions of placeholders by `index` and `type` of a slide layout, which slides inherit. */
type Layout = ReadonlyMap<string, Position>;

/**
 * Reads a PowerPoint presentation (Office Open XML): slides in order as pages, hidden ones too, with title, bullets,
 * tables and speaker notes. Skips comments, charts, SmartArt, footers and slide numbers.
 */
export async function* readPptx(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: await withArchive(input, readArchive) };
}

/** Throws as `readPptx` does for damaged files. */
export function checkPptx(input: ReaderInput): Promise<void> {
  return checkOffice(input, PRESENTATION);
}

async function readArchive(archive: Archive): Promise<ExtractedDocument> {
  const main = await findMainPart(archive, PRESENTATION);
  const ids: string[] = [];
  await readXml(
    archive.read(main),
    requireRoot(PRESENTATION, {
      open: (name, attributes) => {
        if (name === 'sldId') ids.push(attributes['r:id'] ?? attributes['id'] ?? '');
      },
    }),
  );
  if (ids.length > MAX_SLIDES) throw tooLarge(`it has more than ${MAX_SLIDES.toLocaleString('en')} slides`);
  const relationships = await readRelationships(archive, main);
  const layouts = new Map<string, Layout>();
  const slides: Slide[] = [];
  let isComplete = true;
  const counter = { characters: 0 };
  for (const id of ids) {
    const part = relationships.get(id)?.target ?? '';
    const related = [...(await readRelationships(archive, part)).values()];
    const target = (type: string) => related.find((one) => one.type === type)?.target ?? '';
    const layoutPart = target('slideLayout');
    const layout = layouts.get(layoutPart) ?? (await readLayout(archive, layoutPart));
    layouts.set(layoutPart, layout);
    const shapes = new SlideShapes(layout, counter);
    isComplete = (await readXml(archive.read(part), shapes)) && isComplete;
    const notes = new SlideShapes(new Map(), counter, 'body');
    await readXml(archive.read(target('notesSlide')), notes);
    slides.push({ shapes: shapes.shapes, notes: notes.shapes.flatMap(({ texts }) => texts.map(({ text }) => text)) });
  }
  const text = writeSlides(slides);
  if (!isComplete && text.text === '') throw invalidFile('The presentation is damaged: it ends before any text.');
  const { title, ...metadata } = await readProperties(archive);
  return { ...text, title: normalizeTitle(title), metadata };
}

async function readLayout(archive: Archive, part: string): Promise<Layout> {
  const positions = new Map<string, Position>();
  let keys: string[] = [];
  await readXml(archive.read(part), {
    open: (name, { type = 'obj', idx, x, y }) => {
      if (name === 'sp') keys = [];
      else if (name === 'ph') keys = idx === undefined ? [type] : [`${idx}`, type];
      else if (name === 'a:off') for (const key of keys) positions.set(key, toPosition(x, y));
    },
  });
  return positions;
}

function toPosition(x: string | undefined, y: string | undefined): Position {
  return { x: Number(x) / EMU_PER_INCH || 0, y: Number(y) / EMU_PER_INCH || 0 };
}

/** An open shape. */
interface OpenShape extends SlideShape {
  /** Type of the placeholder; null for other shapes. */
  placeholder: string | null;
}

/** Handlers of a slide, or of notes: ISO/IEC 29500-1, 19.3 and 21.1.2. */
class SlideShapes implements XmlHandlers {
  readonly shapes: SlideShape[] = [];
  readonly #layout: Layout;
  readonly #counter: { characters: number };
  /** Only placeholders of this type are read; all shapes without it. */
  readonly #only: string | undefined;
  #shape: OpenShape | null = null;
  #groups: { position: Position | null; origin: Position | null }[] = [];
  #paragraph: { text: string; level: number; isBullet: boolean | null } | null = null;
  #rows: string[][] | null = null;
  #cell: string[] | null = null;
  #isText = false;
  #fallbackDepth = 0;

  constructor(layout: Layout, counter: { characters: number }, only?: string) {
    this.#layout = layout;
    this.#counter = counter;
    this.#only = only;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'Fallback') this.#fallbackDepth += 1;
    if (this.#fallbackDepth > 0) return;
    if (name === 'grpSp') this.#groups.push({ position: null, origin: null });
    else if (name === 'sp' || name === 'graphicFrame' || name === 'cxnSp')
      this.#shape = { role: 'other', position: null, texts: [], placeholder: null };
    else if (name === 'ph') this.#setPlaceholder(attributes);
    else if (name === 'a:off' || name === 'a:chOff')
      this.#setPosition(name, toPosition(attributes['x'], attributes['y']));
    else if (name === 'a:tbl') this.#rows = [];
    else if (name === 'a:tr') this.#rows?.push([]);
    else if (name === 'a:tc') this.#cell = [];
    else if (name === 'a:p') this.#paragraph = { text: '', level: 0, isBullet: null };
    else if (name === 'a:t') this.#isText = true;
    else if (name === 'a:br') this.text(' ', true);
    else if (this.#paragraph !== null) this.#setProperty(name, attributes);
  }

  text(text: string, isBreak = false): void {
    if ((this.#isText || isBreak) && this.#paragraph !== null && this.#fallbackDepth === 0)
      this.#paragraph.text += text;
  }

  close(name: string): void {
    if (name === 'Fallback') this.#fallbackDepth -= 1;
    if (this.#fallbackDepth > 0) return;
    if (name === 'a:t') this.#isText = false;
    else if (name === 'a:p') this.#closeParagraph();
    else if (name === 'a:tc') this.#closeCell();
    else if (name === 'a:tbl') this.#closeTable();
    else if (name === 'grpSp') this.#groups.pop();
    else if (name === 'sp' || name === 'graphicFrame' || name === 'cxnSp') this.#closeShape();
  }

  #setPlaceholder({ type = 'obj', idx }: Readonly<Record<string, string>>): void {
    if (this.#shape === null) return;
    this.#shape.placeholder = type;
    this.#shape.role = TITLES.has(type) ? 'title' : 'other';
    this.#shape.position ??= this.#layout.get(idx ?? type) ?? this.#layout.get(type) ?? null;
  }

  /** Positions within a group are relative to the origin of its children. */
  #setPosition(name: string, position: Position): void {
    const group = this.#groups.at(-1);
    if (this.#shape === null) {
      if (group !== undefined) group[name === 'a:off' ? 'position' : 'origin'] ??= position;
      return;
    }
    let { x, y } = position;
    for (const { position: outer, origin } of this.#groups.toReversed()) {
      x += (outer?.x ?? 0) - (origin?.x ?? 0);
      y += (outer?.y ?? 0) - (origin?.y ?? 0);
    }
    this.#shape.position = { x, y };
  }

  #setProperty(name: string, { lvl }: Readonly<Record<string, string>>): void {
    if (this.#paragraph === null) return;
    if (name === 'a:pPr') this.#paragraph.level = Number(lvl ?? 0) || 0;
    else if (name === 'a:buNone') this.#paragraph.isBullet = false;
    else if (name === 'a:buChar' || name === 'a:buAutoNum') this.#paragraph.isBullet = true;
  }

  #closeParagraph(): void {
    const paragraph = this.#paragraph;
    this.#paragraph = null;
    const text = collapseWhitespace(paragraph?.text ?? '');
    if (paragraph === null || text === '' || this.#shape === null) return;
    this.#counter.characters += text.length;
    checkTextLength(this.#counter.characters);
    const { placeholder, role, texts } = this.#shape;
    const isBullet = paragraph.isBullet ?? BULLETED.has(placeholder ?? '');
    if (this.#cell !== null) this.#cell.push(text);
    else if (isBullet && role !== 'title' && this.#only === undefined) texts.push(listItem(text, paragraph.level));
    else texts.push({ kind: 'paragraph', text });
  }

  #closeCell(): void {
    this.#rows?.at(-1)?.push((this.#cell ?? []).join(' '));
    this.#cell = null;
  }

  #closeTable(): void {
    const table = slideTable(this.#rows ?? []);
    if (table !== null) this.#shape?.texts.push(table);
    this.#rows = null;
  }

  #closeShape(): void {
    const shape = this.#shape;
    this.#shape = null;
    if (shape === null || shape.texts.length === 0 || REPEATED.has(shape.placeholder ?? '')) return;
    if (this.#only === undefined || shape.placeholder === this.#only) this.shapes.push(shape);
  }
}
