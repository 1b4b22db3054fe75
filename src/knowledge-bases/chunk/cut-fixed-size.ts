import type { Atoms } from './atoms.ts';
import type { ChunkSizes } from './chunk.ts';
import type { CooperativeSteps } from './cooperative.ts';
import { type AtomRange, cutGreedily } from './cut-greedy.ts';

/** Cuts into chunks as full as whole atoms allow, wherever that is in the text. */
export function cutFixedSize(atoms: Atoms, sizes: ChunkSizes): CooperativeSteps<AtomRange[]> {
  return cutGreedily(atoms, sizes, ({ last }) => last);
}
