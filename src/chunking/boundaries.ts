import type { Block, ExtractedText } from '../extraction/extracted-document.ts';
import { type Atoms, findAtom } from './atoms.ts';
import type { CooperativeSteps } from './cooperative.ts';
import { segmentSentences } from './segment-sentences.ts';

/** Kinds of boundaries before an atom, the worst place to cut first. Values fit a `Uint8Array`. */
export const BoundaryKind = {
  insideWord: 0,
  /** Between a heading and its content. */
  afterHeading: 1,
  word: 2,
  clause: 3,
  /** Between lines of code or of a table. */
  line: 4,
  sentence: 5,
  block: 6,
  /** Before a heading of level 6; plus one for each higher level. */
  heading: 7,
} as const;

const HEADING_LEVELS = 6;

/** Number of boundary kinds. */
export const BOUNDARY_KINDS = BoundaryKind.heading + HEADING_LEVELS;

/** Atoms, lines or blocks per cooperative step. */
const STEP = 512;

const CLAUSE_ENDS: ReadonlySet<string> = new Set(',;:)]、，；：');

/** Returns the kind of boundary before each atom. The first atom has the strongest kind. */
export function* findBoundaries({ text, blocks }: ExtractedText, atoms: Atoms): CooperativeSteps<Uint8Array> {
  const boundaries = new Uint8Array(atoms.starts.length).fill(BoundaryKind.word);
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
    if (previousEnd === starts[i]) boundaries[i] = BoundaryKind.insideWord;
    else if (CLAUSE_ENDS.has(text.charAt(previousEnd - 1))) boundaries[i] = BoundaryKind.clause;
  }
}

function* markBlock(text: string, block: Block, atoms: Atoms, boundaries: Uint8Array): CooperativeSteps<void> {
  const { kind, start, end, level = HEADING_LEVELS } = block;
  const inner = text.slice(start, end);
  if (kind === 'code' || kind === 'table') {
    for (let at = inner.indexOf('\n'), line = 1; at !== -1; at = inner.indexOf('\n', at + 1), line++) {
      if (line % STEP === 0) yield;
      raise(atoms, boundaries, start + at, BoundaryKind.line);
    }
  } else if (kind !== 'heading') {
    const sentences = yield* segmentSentences(inner);
    for (const [i, sentence] of sentences.entries()) {
      if (i % STEP === STEP - 1) yield;
      raise(atoms, boundaries, start + sentence.start, BoundaryKind.sentence);
    }
  }
  const isHeading = kind === 'heading';
  const depth = Math.min(Math.max(1, level), HEADING_LEVELS);
  raise(atoms, boundaries, start, isHeading ? BoundaryKind.heading + HEADING_LEVELS - depth : BoundaryKind.block);
}

/** Marks the first atom after each heading. */
function* markAfterHeadings(blocks: readonly Block[], atoms: Atoms, boundaries: Uint8Array): CooperativeSteps<void> {
  for (const [i, block] of blocks.entries()) {
    if (i % STEP === 0) yield;
    const next = blocks[i + 1];
    if (block.kind !== 'heading' || next === undefined) continue;
    const atom = findAtom(atoms, next.start);
    if (atom < boundaries.length) boundaries[atom] = BoundaryKind.afterHeading;
  }
}

/** Raises the boundary before the atom at an offset to `kind`, unless it is stronger already. */
function raise(atoms: Atoms, boundaries: Uint8Array, character: number, kind: number): void {
  const atom = findAtom(atoms, character);
  if (atom >= boundaries.length) return;
  boundaries[atom] = Math.max(boundaries[atom] ?? 0, kind);
}
