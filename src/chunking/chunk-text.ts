import type { ExtractedText, TextBox } from '../extraction/extracted-document.ts';
import { formatCellRange } from '../lib/cell-range.ts';
import { truncateGraphemes } from '../lib/truncate.ts';
import { type Atoms, splitAtoms } from './atoms.ts';
import { findBoundaries } from './boundaries.ts';
import type { ChunkingModel, ChunkingStrategy, TextChunk, TextPlace } from './chunk.ts';
import { runCooperatively } from './cooperative.ts';
import { type AtomRange, cutFixedSize, cutRecursive } from './cut-greedy.ts';
import { cutSemantic } from './cut-semantic.ts';

/** Chunks per call to count tokens. */
const COUNT_BATCH = 64;
/** Maximum characters of a heading in a heading path, which every chunk below it repeats. Few have more than 100. */
const MAX_HEADING_CHARACTERS = 200;

/**
 * Splits a document into chunks in text order. Every non-blank character is in at least one chunk; no chunk exceeds the
 * strategy's size. A document without text has no chunks. Yields to the event loop every 10 ms.
 */
export async function chunkText(
  document: ExtractedText,
  strategy: ChunkingStrategy,
  model: ChunkingModel,
  signal: AbortSignal,
): Promise<TextChunk[]> {
  const atoms = await splitAtoms(document.text, model, signal);
  const ranges = await cut(document, atoms, { strategy, model, signal });
  const chunks: TextChunk[] = [];
  const locate = createLocator(document);
  const selectBoxes = createBoxSelector(document.boxes ?? []);
  for (let from = 0; from < ranges.length; from += COUNT_BATCH) {
    for (const { start, fresh, end, tokens } of await fitToSize(document.text, atoms, {
      ranges: ranges.slice(from, from + COUNT_BATCH),
      sizeTokens: strategy.chunkSizeTokens,
      count: (texts) => model.countTokens(texts, signal),
    })) {
      chunks.push({ startIndex: start, endIndex: end, tokens, ...locate(fresh, end), boxes: selectBoxes(start, end) });
    }
  }
  return chunks;
}

async function cut(
  document: ExtractedText,
  atoms: Atoms,
  { strategy, model, signal }: { strategy: ChunkingStrategy; model: ChunkingModel; signal: AbortSignal },
): Promise<AtomRange[]> {
  if (strategy.type === 'fixed_size') return runCooperatively(cutFixedSize(atoms, strategy), signal);
  const boundaries = await runCooperatively(findBoundaries(document, atoms), signal);
  if (strategy.type === 'recursive') return runCooperatively(cutRecursive(atoms, boundaries, strategy), signal);
  return cutSemantic(document, { atoms, boundaries, sizes: strategy }, model, signal);
}

/**
 * Counts each range as a whole, and halves those above the size until they fit: the counts of atoms within a run
 * without white space do not add up exactly.
 */
async function fitToSize(
  text: string,
  { starts, ends }: Atoms,
  options: {
    ranges: readonly AtomRange[];
    sizeTokens: number;
    count(texts: readonly string[]): Promise<number[]>;
  },
): Promise<{ start: number; fresh: number; end: number; tokens: number }[]> {
  let ranges = [...options.ranges];
  for (;;) {
    const spans = ranges.map(({ from, fresh, to }) => ({
      start: starts[from] ?? 0,
      fresh: starts[fresh] ?? 0,
      end: ends[to - 1] ?? 0,
    }));
    const counts = await options.count(spans.map(({ start, end }) => text.slice(start, end)));
    const fits = (i: number, { from, to }: AtomRange) => (counts[i] ?? 0) <= options.sizeTokens || to - from === 1;
    if (ranges.every((range, i) => fits(i, range))) {
      return spans.map((span, i) => ({ ...span, tokens: counts[i] ?? 0 }));
    }
    ranges = ranges.flatMap((range, i) => (fits(i, range) ? [range] : halve(range)));
  }
}

function halve({ from, fresh, to }: AtomRange): AtomRange[] {
  const middle = (from + to) >>> 1;
  return [
    { from, fresh: Math.min(fresh, middle - 1), to: middle },
    { from: middle, fresh: Math.max(fresh, middle), to },
  ];
}

/** Returns a function that gives places and cells of a range. Call it with ascending offsets. */
function createLocator({
  text,
  blocks,
}: ExtractedText): (start: number, end: number) => TextPlace & Pick<TextChunk, 'laterPlaces' | 'cells'> {
  const path: { level: number; title: string }[] = [];
  let runIn: { title: string; paragraph: number } | null = null;
  let page: number | null = null;
  let next = 0;
  const placeAt = (offset: number): TextPlace => {
    for (; next < blocks.length; next++) {
      const block = blocks[next];
      if (block === undefined || block.start > offset) break;
      page = block.page ?? page;
      if (runIn !== null && next > runIn.paragraph) runIn = null;
      if (block.kind !== 'heading') continue;
      if (block.isRunIn) {
        runIn = { title: runInTitle(text.slice(block.start, block.end)), paragraph: next + 1 };
        continue;
      }
      const level = block.level ?? 1;
      while ((path.at(-1)?.level ?? 0) >= level) path.pop();
      path.push({ level, title: headingTitle(text.slice(block.start, block.end)) });
    }
    return { headingPath: [...path, ...(runIn === null ? [] : [runIn])].map(({ title }) => title), page };
  };
  return (start, end) => {
    const first = placeAt(start);
    const cells = locateCells({ text, blocks }, next - 1, start, end);
    const later: (TextPlace & { start: number })[] = [];
    for (let block = blocks[next]; block !== undefined && block.start < end; block = blocks[next]) {
      const place = placeAt(block.start);
      if (!isSamePlace(place, later.at(-1) ?? first)) later.push({ start: block.start, ...place });
    }
    return { ...first, laterPlaces: later.length === 0 ? null : later, cells };
  };
}

/** Returns a function that gives the boxes of a range. Call it with ascending offsets. */
function createBoxSelector(boxes: readonly TextBox[]): (start: number, end: number) => TextBox[] | null {
  let first = 0;
  return (start, end) => {
    while ((boxes[first]?.[1] ?? Number.POSITIVE_INFINITY) <= start) first++;
    let last = first;
    while ((boxes[last]?.[0] ?? Number.POSITIVE_INFINITY) < end) last++;
    return last === first ? null : boxes.slice(first, last);
  };
}

const isSamePlace = (a: TextPlace, b: TextPlace): boolean =>
  a.page === b.page && a.headingPath.join('\n') === b.headingPath.join('\n');

/** Returns the cells of a range of the text that begins in the block `at`; null without any. */
function locateCells({ text, blocks }: ExtractedText, at: number, start: number, end: number): string | null {
  const sheet = blocks[at]?.cells?.sheet;
  const lines: number[] = [];
  const columns: number[] = [];
  for (let i = Math.max(0, at); i < blocks.length; i++) {
    const block = blocks[i];
    if (block?.cells === undefined || block.start >= end || block.cells.sheet !== sheet) break;
    columns.push(block.cells.column, block.cells.lastColumn);
    let lineEnd = block.start - 1;
    for (const row of block.cells.rows) {
      const lineStart = lineEnd + 1;
      const newline = text.indexOf('\n', lineStart);
      lineEnd = newline === -1 ? text.length : newline;
      if (row !== null && lineEnd > start && lineStart < end) lines.push(row);
    }
  }
  if (sheet === undefined || lines.length === 0) return null;
  const [column, lastColumn] = [Math.min(...columns), Math.max(...columns)];
  return formatCellRange(sheet, { column, lastColumn, row: Math.min(...lines), lastRow: Math.max(...lines) });
}

/** A heading in one line without Markdown markers, truncated. */
function headingTitle(heading: string): string {
  const title = heading
    .replace(/^\s*#{1,6}\s+|\s+#+\s*$|\n\s*[=-]+\s*$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return truncateGraphemes(title, MAX_HEADING_CHARACTERS);
}

/** A bold opening of a paragraph without its markers and its full stop or colon. */
function runInTitle(heading: string): string {
  return heading.replace(/^(?:\*\*|__)|(?:\*\*|__):?$/g, '').replace(/[.:]$/, '');
}
