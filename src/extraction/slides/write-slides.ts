import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { BlockKind, ExtractedText } from '../extracted-document.ts';
import { formatTableRow, TextWriter } from '../text-writer.ts';

/** Shapes whose top edges lie in the same band are read from left to right: a quarter of an inch, in inches. */
const BAND_INCHES = 0.25;
const MAX_LIST_LEVEL = 8;

/** A text of a slide. */
export interface SlideText {
  kind: Extract<BlockKind, 'paragraph' | 'list-item' | 'table'>;
  text: string;
}

/** A shape with text. The position is that of its upper left corner in inches; null when the file does not tell it. */
export interface SlideShape {
  role: 'title' | 'other';
  position: { x: number; y: number } | null;
  texts: SlideText[];
}

/** A slide with its speaker notes. */
export interface Slide {
  shapes: SlideShape[];
  notes: string[];
}

/**
 * Writes slides as pages: the title, or `Slide 3` without one, as heading, then the other shapes from top to bottom,
 * then the notes. Slides without text are skipped.
 */
export function writeSlides(slides: readonly Slide[]): ExtractedText {
  const writer = new TextWriter();
  slides.forEach(({ shapes, notes }, i) => {
    const place = { page: i + 1 };
    const titles = shapes.filter(({ role }) => role === 'title').flatMap(({ texts }) => texts.map(({ text }) => text));
    const title = collapseWhitespace(titles.join(' '));
    const others = shapes.filter(({ role, texts }) => role === 'other' && texts.length > 0).toSorted(compareShapes);
    if (title === '' && others.length === 0 && notes.length === 0) return;
    writer.write('heading', title === '' ? `Slide ${i + 1}` : title, { ...place, level: 1 });
    for (const { kind, text } of others.flatMap(({ texts }) => texts)) writer.write(kind, text, place);
    if (notes.length > 0) writer.write('paragraph', `Notes: ${notes.join('\n')}`, place);
  });
  return writer.finish();
}

/** Shapes without a position come first: they are placeholders, which lie below the title. */
function compareShapes(a: SlideShape, b: SlideShape): number {
  const band = ({ position }: SlideShape) => (position === null ? -1 : Math.floor(position.y / BAND_INCHES));
  return band(a) - band(b) || (a.position?.x ?? 0) - (b.position?.x ?? 0);
}

/** An item of a list, indented by its level from 0. */
export function listItem(text: string, level: number): SlideText {
  const depth = Math.min(Math.max(0, level), MAX_LIST_LEVEL);
  return { kind: 'list-item', text: `${'  '.repeat(depth)}- ${text}` };
}

/** A table, one line per row without the empty ones; null without text. */
export function slideTable(rows: readonly (readonly string[])[]): SlideText | null {
  const lines = rows.filter((cells) => cells.some((cell) => cell !== '')).map(formatTableRow);
  return lines.length === 0 ? null : { kind: 'table', text: lines.join('\n') };
}
