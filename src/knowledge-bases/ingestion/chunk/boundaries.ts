import { sentencesOf } from '../../../lib/sentences.ts';
import type { Block, ExtractedText } from '../extracted-text.ts';
import { type Atoms, atomAt } from './atoms.ts';

/** What a cut before an atom would part, the worst first. The numbers are kept in a `Uint8Array`. */
export const BOUNDARY = {
  insideWord: 0,
  /** A heading would end the chunk, and what it announces begin the next. */
  afterHeading: 1,
  word: 2,
  clause: 3,
  /** Between the lines of code or of a table. */
  line: 4,
  sentence: 5,
  block: 6,
  /** Before a heading of the lowest level; one more for each level above it. */
  heading: 7,
} as const;

/** Levels of headings, 1 to 6, as HTML and Markdown have them. */
const HEADING_LEVELS = 6;

/** How many kinds of boundary there are. */
export const BOUNDARY_KINDS = BOUNDARY.heading + HEADING_LEVELS;

/** For each atom, what a cut right before it parts. The first atom's is the strongest that there is. */
export function boundariesOf({ text, blocks }: ExtractedText, atoms: Atoms): Uint8Array {
  const boundaries = new Uint8Array(atoms.starts.length).fill(BOUNDARY.word);
  markWords(text, atoms, boundaries);
  for (const block of blocks) markBlock(text, block, atoms, boundaries);
  markAfterHeadings(blocks, atoms, boundaries);
  if (boundaries.length > 0) boundaries[0] = BOUNDARY_KINDS - 1;
  return boundaries;
}

function markWords(text: string, { starts, ends }: Atoms, boundaries: Uint8Array): void {
  for (let i = 1; i < starts.length; i++) {
    const previousEnd = ends[i - 1] ?? 0;
    if (previousEnd === starts[i]) boundaries[i] = BOUNDARY.insideWord;
    else if (/[,;:)\]、，；：]/.test(text.charAt(previousEnd - 1))) boundaries[i] = BOUNDARY.clause;
  }
}

function markBlock(text: string, block: Block, atoms: Atoms, boundaries: Uint8Array): void {
  const { kind, start, end, level = HEADING_LEVELS } = block;
  const inner = text.slice(start, end);
  if (kind === 'code' || kind === 'table') {
    for (const { index } of inner.matchAll(/\n/g)) raise(atoms, boundaries, start + index, BOUNDARY.line);
  } else if (kind !== 'heading') {
    for (const sentence of sentencesOf(inner)) raise(atoms, boundaries, start + sentence.start, BOUNDARY.sentence);
  }
  const isHeading = kind === 'heading';
  const depth = Math.min(Math.max(1, level), HEADING_LEVELS);
  raise(atoms, boundaries, start, isHeading ? BOUNDARY.heading + HEADING_LEVELS - depth : BOUNDARY.block);
}

/** What follows a heading belongs to it, whatever it is. */
function markAfterHeadings(blocks: readonly Block[], atoms: Atoms, boundaries: Uint8Array): void {
  blocks.forEach((block, i) => {
    const next = blocks[i + 1];
    if (block.kind !== 'heading' || next === undefined) return;
    const atom = atomAt(atoms, next.start);
    if (atom < boundaries.length) boundaries[atom] = BOUNDARY.afterHeading;
  });
}

/** Makes the boundary before the atom at a character the stronger of what it is and `kind`. */
function raise(atoms: Atoms, boundaries: Uint8Array, character: number, kind: number): void {
  const atom = atomAt(atoms, character);
  if (atom >= boundaries.length) return;
  boundaries[atom] = Math.max(boundaries[atom] ?? 0, kind);
}
