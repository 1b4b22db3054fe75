import type { Atoms } from './atoms.ts';
import { BOUNDARY, BOUNDARY_KINDS } from './boundaries.ts';
import type { ChunkSizes } from './chunk.ts';
import type { CooperativeSteps } from './cooperative.ts';
import { type AtomRange, cutGreedily } from './cut-greedy.ts';

/**
 * What a cut at each kind of boundary is worth, in parts of the chunk size: so much of the size is given up to cut there
 * rather than between two words. Found on the development corpora of `eval:retrieval -- --through ingest`.
 */
const WORTH_BELOW_HEADINGS: Record<number, number> = {
  [BOUNDARY.insideWord]: -1,
  [BOUNDARY.afterHeading]: -0.5,
  [BOUNDARY.word]: 0,
  [BOUNDARY.clause]: 0.15,
  [BOUNDARY.line]: 0.4,
  [BOUNDARY.sentence]: 0.5,
  [BOUNDARY.block]: 0.8,
};

const WORTH: readonly number[] = Array.from({ length: BOUNDARY_KINDS }, (_, kind) => {
  if (kind >= BOUNDARY.heading) return 1 + 0.02 * (kind - BOUNDARY.heading);
  return WORTH_BELOW_HEADINGS[kind] ?? 0;
});

/**
 * Cuts where the structure of the text is: of all places where a chunk could end, the one that is worth most, a fuller chunk
 * being worth more than an emptier one.
 */
export function cutRecursive(atoms: Atoms, boundaries: Uint8Array, sizes: ChunkSizes): CooperativeSteps<AtomRange[]> {
  return cutGreedily(atoms, sizes, ({ first, last, filled }) => {
    let best = last;
    let bestWorth = Number.NEGATIVE_INFINITY;
    for (let to = first; to <= last; to++) {
      const worth = (WORTH[boundaries[to] ?? BOUNDARY.word] ?? 0) + filled(to);
      if (worth < bestWorth) continue;
      best = to;
      bestWorth = worth;
    }
    return best;
  });
}
