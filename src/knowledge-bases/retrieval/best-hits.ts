import type { ChunkHit } from '../../search/chunk-table.ts';

/** A hit with its score, 0 to 1. */
export interface ScoredHit {
  id: string;
  score: number;
}

/** How hits are scored, and where the keyword scores are asked for that a search has left open. */
export interface HitScoring {
  /** A higher `bm25` must not give a lower score. */
  scoreOf(hit: ChunkHit): number;
  /** BM25 by id; an id that is missing has 0. */
  bm25Of(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

interface Place {
  hit: ChunkHit;
  score: number;
}

/**
 * Ranks the hits of a search. What is returned gives the best `count` of them, the best first, each with its exact score: as if every
 * score were known. It asks only for those that can change which these are. As long as a hit stands where its bound would put it, no
 * score of its own can put it higher, so one that stands below `count` hits of known scores need not be asked for.
 */
export function bestHits(hits: readonly ChunkHit[], scoring: HitScoring): (count: number) => Promise<ScoredHit[]> {
  let places = ranked(hits, scoring);
  return async (count) => {
    const open = openBefore(places, count);
    if (open.size > 0) {
      const bm25 = await scoring.bm25Of([...open]);
      const settled = ({ hit }: Place): ChunkHit =>
        open.has(hit.id) ? { ...hit, bm25: bm25.get(hit.id) ?? 0, isBound: false } : hit;
      places = ranked(places.map(settled), scoring);
    }
    return places.slice(0, count).map(({ hit, score }) => ({ id: hit.id, score }));
  };
}

/**
 * The best first; of equal scores the one with the nearer vector, as where none is near at all, and then the one with the smaller id: the
 * order is the same every time.
 */
function ranked(hits: readonly ChunkHit[], { scoreOf }: HitScoring): Place[] {
  return hits
    .map((hit) => ({ hit, score: scoreOf(hit) }))
    .sort((a, b) => b.score - a.score || (b.hit.cosine ?? 0) - (a.hit.cosine ?? 0) || (a.hit.id < b.hit.id ? -1 : 1));
}

/** The hits of bounds that stand before the last of `count` hits of known scores; all of them where there are not so many. */
function openBefore(places: readonly Place[], count: number): ReadonlySet<string> {
  const open = new Set<string>();
  let known = 0;
  for (const { hit } of places) {
    if (known === count) break;
    if (hit.isBound) open.add(hit.id);
    else known++;
  }
  return open;
}
