const CUT = 10;
const RECALL_CUT = 100;

/** Graded relevance by document index; missing documents are not relevant. */
export type Gains = ReadonlyMap<number, number>;

/** Indexes of the `count` highest scores, best first. Ties keep their order. */
export function best(scores: ArrayLike<number>, count: number): number[] {
  const places = Array.from({ length: scores.length }, (_, place) => place);
  // Array sort is stable.
  return places.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, count);
}

/** nDCG@10 of one query: gains as they are (not 2^gain - 1), discount 1 / log2(rank + 1), as trec_eval has it. 0..1. */
export function ndcg(ranking: readonly number[], gains: Gains): number {
  const ideal = [...gains.values()].sort((a, b) => b - a);
  return discounted(ranking.map((place) => gains.get(place) ?? 0)) / discounted(ideal);
}

function discounted(gains: readonly number[]): number {
  return gains.slice(0, CUT).reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}

/** Recall@100 of one query: the share of its relevant documents among the first hundred. 0..1. */
export function recall(ranking: readonly number[], gains: Gains): number {
  return ranking.slice(0, RECALL_CUT).filter((place) => gains.has(place)).length / gains.size;
}

/** 1 / rank of the first relevant document of one query, 0 without one. */
export function reciprocalRank(ranking: readonly number[], gains: Gains): number {
  const at = ranking.findIndex((place) => gains.has(place));
  return at === -1 ? 0 : 1 / (at + 1);
}
