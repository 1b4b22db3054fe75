import { PrefixCache, type SnapshotHolder } from '../../src/engines/llama/kv-cache/prefix-cache.ts';
import type { Trace } from './traces.ts';

const SCOPE = 'trace';

/** A cache under test: gets each prompt, returns the number of its cached blocks, and caches the prompt. */
export interface ReplayedCache {
  name: string;
  /** Cached blocks at the start of the prompt. */
  ask(blocks: readonly number[], atMs: number): number;
}

/** Share of cached prompt blocks in the whole trace. */
export function hitRate(trace: Trace, cache: ReplayedCache): number {
  let found = 0;
  let all = 0;
  for (const { blocks, atMs } of trace.requests) {
    found += cache.ask(blocks, atMs);
    all += blocks.length;
  }
  return found / all;
}

/** An unlimited cache: the upper bound. */
export function endlessCache(): ReplayedCache {
  const held = new Set<number>();
  return {
    name: 'ideal',
    ask: (blocks) => {
      const found = heldBeginning(blocks, (block) => held.has(block));
      for (const block of blocks) held.add(block);
      return found;
    },
  };
}

/**
 * Paged memory: single blocks with LRU eviction, shared by all prompts. A block's id identifies its whole prefix, so a
 * set is sufficient.
 */
export function pagedCache(capacityBlocks: number): ReplayedCache {
  const held = new Map<number, true>();
  return {
    name: 'paged',
    ask: (blocks) => {
      const found = heldBeginning(blocks, (block) => held.has(block));
      // From the end, so that prefixes are used later than their continuations and outlive them.
      for (const block of blocks.toReversed()) {
        held.delete(block);
        held.set(block, true);
      }
      for (const block of held.keys()) {
        if (held.size <= capacityBlocks) break;
        held.delete(block);
      }
      return found;
    },
  };
}

/** Quire's cache: whole prefixes, each of which takes its full length, even when it shares blocks with another one. */
export function savedStates(capacityBlocks: number): ReplayedCache {
  let nowMs = 0;
  let next = 0;
  const cache = new PrefixCache(capacityBlocks, () => nowMs);
  return {
    name: 'Quire',
    ask: (blocks, atMs) => {
      nowMs = atMs;
      const [best] = cache.matches(SCOPE, blocks);
      if (best !== undefined) cache.touch(best.holder);
      next += 1;
      const state: SnapshotHolder = { kind: 'snapshot', id: String(next), bytes: blocks.length, length: blocks.length };
      cache.addSnapshot(state, SCOPE, blocks);
      return best?.length ?? 0;
    },
  };
}

function heldBeginning(blocks: readonly number[], holds: (block: number) => boolean): number {
  const end = blocks.findIndex((block) => !holds(block));
  return end < 0 ? blocks.length : end;
}
