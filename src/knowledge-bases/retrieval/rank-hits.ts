import type { ChunkHit } from '../../search/chunk-table.ts';

/** A hit with its score, 0 to 1, and the raw scores that it combines. */
export interface ScoredHit extends Pick<ChunkHit, 'id' | 'cosine' | 'bm25'> {
  score: number;
}

/** Scoring of hits. */
export interface HitScoring {
  /** Returns the score of a hit. Must be monotonic in `bm25`. */
  score(hit: ChunkHit): number;
  /** Returns BM25 scores by id; missing ids have 0. */
  bm25Scores(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

interface RankedHit {
  hit: ChunkHit;
  score: number;
}

/**
 * Ranks hits of which some have only an upper bound of their BM25 score. Returns a function that gives the best `count`
 * hits with exact scores. It fetches only scores that can change the result: a hit whose bound ranks below `count` hits
 * with known scores cannot.
 */
export function rankHits(hits: readonly ChunkHit[], scoring: HitScoring): (count: number) => Promise<ScoredHit[]> {
  let ranking = rank(hits, scoring);
  return async (count) => {
    const unknown = findUnknown(ranking, count);
    if (unknown.size > 0) {
      const bm25 = await scoring.bm25Scores([...unknown]);
      const resolve = ({ hit }: RankedHit): ChunkHit =>
        unknown.has(hit.id) ? { ...hit, bm25: bm25.get(hit.id) ?? 0, isBound: false } : hit;
      ranking = rank(ranking.map(resolve), scoring);
    }
    return ranking.slice(0, count).map(({ hit: { id, cosine, bm25 }, score }) => ({ id, score, cosine, bm25 }));
  };
}

/** Sorts by score, then cosine similarity, then id, so that the order is deterministic. */
function rank(hits: readonly ChunkHit[], scoring: HitScoring): RankedHit[] {
  return hits
    .map((hit) => ({ hit, score: scoring.score(hit) }))
    .sort((a, b) => b.score - a.score || (b.hit.cosine ?? 0) - (a.hit.cosine ?? 0) || (a.hit.id < b.hit.id ? -1 : 1));
}

/** Ids of hits with unknown scores that rank before the `count`-th hit with a known score. */
function findUnknown(ranking: readonly RankedHit[], count: number): ReadonlySet<string> {
  const unknown = new Set<string>();
  let ranked = 0;
  for (const { hit } of ranking) {
    if (ranked === count) break;
    if (hit.isBound) unknown.add(hit.id);
    else ranked++;
  }
  return unknown;
}
