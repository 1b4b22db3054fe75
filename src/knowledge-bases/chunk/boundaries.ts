import type { Block, ExtractedText } from '../extract/extracted-document.ts';
import { type Atoms, atomAt } from './atoms.ts';
import type { CooperativeSteps } from './cooperative.ts';
import { segmentSentences } from './segment-sentences.ts';

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

/** Atoms, lines or blocks that are looked at in one step. */
const STEP = 512;

const CLAUSE_ENDS: ReadonlySet<string> = new Set(',;:)]、，；：');

/** For each atom, what a cut right before it parts. The first atom's is the strongest that there is. */
export function* boundariesOf({ text, blocks }: ExtractedText, atoms: Atoms): CooperativeSteps<Uint8Array> {
  const boundaries = new Uint8Array(atoms.starts.length).fill(BOUNDARY.word);
  yield* markWords(text, atoms, boundaries);
  for (const block of blocks) {
    yield;
    yield* markBlock(text, block, atoms, boundaries);
  }
  yield* markAfterHeadings(blocks, atoms, boundaries);
  if (boundaries.length > 0) boundaries[0] = BOUNDARY_KINDS - 1;
  return boundaries;
}

function* markWords(text: string, { starts, ends }: Atoms, boundaries: Uint8Array): CooperativeSteps<void> {
  for (let i = 1; i < starts.length; i++) {
    if (i % STEP === 0) yield;
    const previousEnd = ends[i - 1] ?? 0;
    if (previousEnd === starts[i]) boundaries[i] = BOUNDARY.insideWord;
    else if (CLAUSE_ENDS.has(text.charAt(previousEnd - 1))) boundaries[i] = BOUNDARY.clause;
  }
}

function* markBlock(text: string, block: Block, atoms: Atoms, boundaries: Uint8Array): CooperativeSteps<void> {
  const { kind, start, end, level = HEADING_LEVELS } = block;
  const inner = text.slice(start, end);
  if (kind === 'code' || kind === 'table') {
    for (let at = inner.indexOf('\n'), line = 1; at !== -1; at = inner.indexOf('\n', at + 1), line++) {
      if (line % STEP === 0) yield;
      raise(atoms, boundaries, start + at, BOUNDARY.line);
    }
  } else if (kind !== 'heading') {
    const sentences = yield* segmentSentences(inner);
    for (const [i, sentence] of sentences.entries()) {
      if (i % STEP === STEP - 1) yield;
      raise(atoms, boundaries, start + sentence.start, BOUNDARY.sentence);
    }
  }
  const isHeading = kind === 'heading';
  const depth = Math.min(Math.max(1, level), HEADING_LEVELS);
  raise(atoms, boundaries, start, isHeading ? BOUNDARY.heading + HEADING_LEVELS - depth : BOUNDARY.block);
}

/** What follows a heading belongs to it, whatever it is. */
function* markAfterHeadings(blocks: readonly Block[], atoms: Atoms, boundaries: Uint8Array): CooperativeSteps<void> {
  for (const [i, block] of blocks.entries()) {
    if (i % STEP === 0) yield;
    const next = blocks[i + 1];
    if (block.kind !== 'heading' || next === undefined) continue;
    const atom = atomAt(atoms, next.start);
    if (atom < boundaries.length) boundaries[atom] = BOUNDARY.afterHeading;
  }
}

/** Makes the boundary before the atom at a character the stronger of what it is and `kind`. */
function raise(atoms: Atoms, boundaries: Uint8Array, character: number, kind: number): void {
  const atom = atomAt(atoms, character);
  if (atom >= boundaries.length) return;
  boundaries[atom] = Math.max(boundaries[atom] ?? 0, kind);
}
