import { truncateGraphemes } from '../../lib/truncate-graphemes.ts';
import type { ExtractedText } from '../extract/extracted-document.ts';
import { type Atoms, atomsOf } from './atoms.ts';
import { boundariesOf } from './boundaries.ts';
import type { Chunk, ChunkingModel, ChunkingStrategy } from './chunk.ts';
import { runCooperatively } from './cooperative.ts';
import { cutFixedSize } from './cut-fixed-size.ts';
import type { AtomRange } from './cut-greedy.ts';
import { cutRecursive } from './cut-recursive.ts';
import { cutSemantic } from './cut-semantic.ts';

/** Chunks whose tokens are counted in one call. */
const COUNT_BATCH = 64;
/** Characters of a heading in the path of a chunk: every chunk below it has it, in its row and in the index. Few have more than 100. */
const MAX_HEADING_CHARACTERS = 200;

/**
 * Cuts a document into chunks, in the order of the text. Every character that is no white space is in at least one chunk; no chunk
 * has more tokens than the strategy's size. A document without text has no chunks. What this thread computes it computes in turns of ten
 * milliseconds with others.
 */
export async function chunkText(
  document: ExtractedText,
  strategy: ChunkingStrategy,
  model: ChunkingModel,
  signal: AbortSignal,
): Promise<Chunk[]> {
  const atoms = await atomsOf(document.text, model, signal);
  const ranges = await cut(document, atoms, { strategy, model, signal });
  const chunks: Chunk[] = [];
  const placesOf = placesIn(document);
  for (let from = 0; from < ranges.length; from += COUNT_BATCH) {
    for (const { start, fresh, end, tokens } of await fitted(document.text, atoms, {
      ranges: ranges.slice(from, from + COUNT_BATCH),
      sizeTokens: strategy.chunkSizeTokens,
      count: (texts) => model.countTokens(texts, signal),
    })) {
      chunks.push({ startIndex: start, endIndex: end, tokens, ...placesOf(fresh) });
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
  const boundaries = await runCooperatively(boundariesOf(document, atoms), signal);
  if (strategy.type === 'recursive') return runCooperatively(cutRecursive(atoms, boundaries, strategy), signal);
  return cutSemantic(document, { atoms, boundaries, sizes: strategy }, model, signal);
}

/**
 * The ranges as text, each counted as a whole. The atoms of a run without white space need not add up to what the model
 * counts for the run: a range that turns out too large is halved until its parts fit.
 */
async function fitted(
  text: string,
  { starts, ends }: Atoms,
  wish: {
    ranges: readonly AtomRange[];
    sizeTokens: number;
    count(texts: readonly string[]): Promise<number[]>;
  },
): Promise<{ start: number; fresh: number; end: number; tokens: number }[]> {
  let ranges = [...wish.ranges];
  for (;;) {
    const spans = ranges.map(({ from, fresh, to }) => ({
      start: starts[from] ?? 0,
      fresh: starts[fresh] ?? 0,
      end: ends[to - 1] ?? 0,
    }));
    const counts = await wish.count(spans.map(({ start, end }) => text.slice(start, end)));
    const fits = (i: number, { from, to }: AtomRange) => (counts[i] ?? 0) <= wish.sizeTokens || to - from === 1;
    if (ranges.every((range, i) => fits(i, range))) {
      return spans.map((span, i) => ({ ...span, tokens: counts[i] ?? 0 }));
    }
    ranges = ranges.flatMap((range, i) => (fits(i, range) ? [range] : halved(range)));
  }
}

function halved({ from, fresh, to }: AtomRange): AtomRange[] {
  const middle = (from + to) >>> 1;
  return [
    { from, fresh: Math.min(fresh, middle - 1), to: middle },
    { from: middle, fresh: Math.max(fresh, middle), to },
  ];
}

/** The headings above a character, or that it begins, and its page. To be asked in the order of the text. */
function placesIn({ text, blocks }: ExtractedText): (start: number) => Pick<Chunk, 'headingPath' | 'page'> {
  const path: { level: number; title: string }[] = [];
  let page: number | null = null;
  let next = 0;
  return (start) => {
    for (; next < blocks.length; next++) {
      const block = blocks[next];
      if (block === undefined || block.start > start) break;
      page = block.page ?? page;
      if (block.kind !== 'heading') continue;
      const level = block.level ?? 1;
      while ((path.at(-1)?.level ?? 0) >= level) path.pop();
      path.push({ level, title: titleOf(text.slice(block.start, block.end)) });
    }
    return { headingPath: path.map(({ title }) => title), page };
  };
}

/** A heading in one line, without the marks that Markdown writes it with; cut where it is very long. */
function titleOf(heading: string): string {
  const title = heading
    .replace(/^\s*#{1,6}\s+|\s+#+\s*$|\n\s*[=-]+\s*$/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return truncateGraphemes(title, MAX_HEADING_CHARACTERS);
}
