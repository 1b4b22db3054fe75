import type { Atoms } from './atoms.ts';
import { BOUNDARY_KINDS, BoundaryKind } from './boundaries.ts';
import type { ChunkSizes } from './chunk.ts';
import type { CooperativeSteps } from './cooperative.ts';

/** Atoms of a chunk: `from` (inclusive) to `to` (exclusive). Those before `fresh` overlap the previous chunk. */
export interface AtomRange {
  from: number;
  fresh: number;
  to: number;
}

/** Range of possible ends of a chunk: before the atom `first` at the earliest, before `last` at the latest. */
interface EndRange {
  first: number;
  last: number;
  /** Share of the chunk size that a chunk up to `to` fills, 0 to 1. */
  filled(to: number): number;
}

/**
 * Value of a cut at each kind of boundary below headings, as a share of the chunk size that is given up to cut there
 * rather than between two words. Tuned on the development corpora of `eval:retrieval -- --through ingest`.
 */
const VALUES_BELOW_HEADINGS: Record<number, number> = {
  [BoundaryKind.insideWord]: -1,
  [BoundaryKind.afterHeading]: -0.5,
  [BoundaryKind.word]: 0,
  [BoundaryKind.clause]: 0.15,
  [BoundaryKind.line]: 0.4,
  [BoundaryKind.sentence]: 0.5,
  [BoundaryKind.block]: 0.8,
};

const BOUNDARY_VALUES: readonly number[] = Array.from({ length: BOUNDARY_KINDS }, (_, kind) =>
  kind >= BoundaryKind.heading ? 1 + 0.02 * (kind - BoundaryKind.heading) : (VALUES_BELOW_HEADINGS[kind] ?? 0),
);

/** Cuts into chunks that are as full as possible, regardless of structure. */
export function cutFixedSize(atoms: Atoms, sizes: ChunkSizes): CooperativeSteps<AtomRange[]> {
  return cutGreedily(atoms, sizes, ({ last }) => last);
}

/** Cuts at the boundaries of the highest value, preferring fuller chunks. */
export function cutRecursive(atoms: Atoms, boundaries: Uint8Array, sizes: ChunkSizes): CooperativeSteps<AtomRange[]> {
  return cutAtBest(atoms, sizes, (atom) => BOUNDARY_VALUES[boundaries[atom] ?? BoundaryKind.word] ?? 0);
}

/** Ends each chunk where `value(atom)` (of a cut before the atom) plus the filled share of the chunk is highest. */
export function cutAtBest(
  atoms: Atoms,
  sizes: ChunkSizes,
  value: (atom: number) => number,
): CooperativeSteps<AtomRange[]> {
  return cutGreedily(atoms, sizes, ({ first, last, filled }) => {
    let best = last;
    let bestValue = Number.NEGATIVE_INFINITY;
    for (let to = first; to <= last; to++) {
      const total = value(to) + filled(to);
      if (total < bestValue) continue;
      best = to;
      bestValue = total;
    }
    return best;
  });
}

/**
 * Cuts atoms into chunks from first to last. `chooseEnd` selects the end of each chunk except the last. Each chunk
 * starts with as many atoms of its predecessor as fit into the overlap.
 */
function* cutGreedily(
  atoms: Atoms,
  { chunkSizeTokens, chunkOverlapTokens }: ChunkSizes,
  chooseEnd: (range: EndRange) => number,
): CooperativeSteps<AtomRange[]> {
  const count = atoms.starts.length;
  const tokens = (from: number, to: number) => (atoms.tokensBefore[to] ?? 0) - (atoms.tokensBefore[from] ?? 0);
  const ranges: AtomRange[] = [];
  for (let done = 0; done < count; ) {
    yield;
    let from = done;
    // A short predecessor is not repeated completely.
    const earliest = (ranges.at(-1)?.from ?? 0) + 1;
    while (from > earliest && tokens(from - 1, done) <= chunkOverlapTokens) from -= 1;
    // At least one new atom must fit.
    while (from < done && tokens(from, done + 1) > chunkSizeTokens) from += 1;
    let last = done + 1;
    while (last < count && tokens(from, last + 1) <= chunkSizeTokens) last += 1;
    const filled = (to: number) => tokens(from, to) / chunkSizeTokens;
    const to = last === count ? count : chooseEnd({ first: done + 1, last, filled });
    ranges.push({ from, fresh: done, to });
    done = to;
  }
  return ranges;
}
