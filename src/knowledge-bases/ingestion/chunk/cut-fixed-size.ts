import type { Atoms } from './atoms.ts';
import type { ChunkSizes } from './chunk.ts';
import { type AtomRange, cutInOrder } from './cut-in-order.ts';
import type { Steps } from './in-turns.ts';

/** Cuts into chunks as full as whole atoms allow, wherever that is in the text. */
export function cutFixedSize(atoms: Atoms, sizes: ChunkSizes): Steps<AtomRange[]> {
  return cutInOrder(atoms, sizes, ({ last }) => last);
}
