import type { Atoms } from './atoms.ts';
import type { ChunkSizes } from './chunk.ts';
import type { CooperativeSteps } from './cooperative.ts';

/** Atoms of a chunk: from the one at `from` up to, not including, the one at `to`. Those before `fresh` overlap. */
export interface AtomRange {
  from: number;
  fresh: number;
  to: number;
}

/** Where a chunk may end: after the atom before `first` at the soonest, after the one before `last` at the latest. */
export interface EndChoice {
  first: number;
  last: number;
  /** The part of the chunk size that a chunk up to `to` has, 0 to 1. */
  filled(to: number): number;
}

/**
 * Cuts atoms into chunks from the first to the last. `chooseEnd` says where each ends, but for the last, which takes what is
 * left as soon as it fits. Each begins with so many atoms of its predecessor as the overlap has room for.
 */
export function* cutGreedily(
  atoms: Atoms,
  { chunkSizeTokens, chunkOverlapTokens }: ChunkSizes,
  chooseEnd: (choice: EndChoice) => number,
): CooperativeSteps<AtomRange[]> {
  const count = atoms.starts.length;
  const tokens = (from: number, to: number) => (atoms.tokensBefore[to] ?? 0) - (atoms.tokensBefore[from] ?? 0);
  const ranges: AtomRange[] = [];
  for (let done = 0; done < count; ) {
    yield;
    let from = done;
    // A short predecessor is not taken in whole: it would be there twice.
    const earliest = (ranges.at(-1)?.from ?? 0) + 1;
    while (from > earliest && tokens(from - 1, done) <= chunkOverlapTokens) from -= 1;
    // At least one new atom has to fit.
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
