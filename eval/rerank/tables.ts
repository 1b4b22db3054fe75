import { showProgress } from '../../bench/harness/command.ts';
import {
  countColumn,
  type MetricRow,
  type MetricTable,
  metricColumn,
  pValueColumn,
} from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { mean, pairedBootstrap } from '../../bench/harness/statistics.ts';
import { best, ndcg } from '../measures/ranking.ts';
import type { CollectionSource } from '../retrieval/collections.ts';
import { Search } from '../retrieval/search.ts';
import { requestScores } from './rerank-client.ts';

/** Documents of the first-stage search. */
const CANDIDATES = 100;
/** Weights of the rerank score in mixes with the hybrid score. */
const MIXES = [0.3, 0.5] as const;
/** Lower bounds of the score ranges of the calibration table. */
const RANGES = [0, 0.1, 0.3, 0.5, 0.7, 0.9] as const;
const COLUMNS = [
  countColumn('queries'),
  ...['BM25', 'hybrid', 'reranked', ...MIXES.map((part) => `${part} of it`)].map(metricColumn),
  ...['p', `p, ${MIXES[0]} of it`].map(pValueColumn),
];

/** A candidate's score and whether it is relevant. */
interface ScoredCandidate {
  score: number;
  isRelevant: boolean;
}

/**
 * nDCG@10 of BM25, of hybrid search, and of the best 100 of hybrid search in the reranker's order, alone and mixed with
 * the hybrid score; p is against hybrid. The second table is the calibration: the share of relevant candidates in each
 * range of scores.
 */
export async function rerankTables(
  service: ServiceClient,
  data: string,
  sources: readonly CollectionSource[],
): Promise<MetricTable[]> {
  const rows: MetricRow[] = [];
  const worth: MetricRow[] = [];
  for (const source of sources) {
    const { row, scored } = await reranked(service, await Search.of(service, source.read(data)));
    rows.push(row);
    worth.push({ name: source.name, cells: RANGES.map((low, at) => relevant(scored, low, RANGES[at + 1])) });
  }
  const ranges = RANGES.map((low, at) => ({
    name: `${low.toFixed(1)} to ${(RANGES[at + 1] ?? 1).toFixed(1)}`,
    digits: 3,
  }));
  return [
    { title: 'Best 100 of hybrid search, reranked', subject: 'nDCG@10', columns: COLUMNS, rows },
    {
      title: 'Share of the candidates that is relevant, by score',
      subject: 'collection',
      columns: ranges,
      rows: worth,
    },
  ];
}

async function reranked(
  service: ServiceClient,
  search: Search,
): Promise<{ row: MetricRow; scored: ScoredCandidate[] }> {
  const { name, queries, documents, gains } = search.collection;
  const scored: ScoredCandidate[] = [];
  const keyword: number[] = [];
  const hybrid: number[] = [];
  const alone: number[] = [];
  const mixed = MIXES.map((): number[] => []);
  for (const [query, own] of gains.entries()) {
    const first = search.scores(query);
    const places = best(first.hybrid, CANDIDATES);
    const scores = await requestScores(
      service,
      queries[query] ?? '',
      places.map((place) => documents[place] ?? ''),
    );
    // Candidates are in hybrid order, which breaks ties.
    const rankPlaces = (values: readonly number[]): number[] => best(values, CANDIDATES).map((at) => places[at] ?? -1);
    keyword.push(ndcg(best(first.keyword, CANDIDATES), own));
    hybrid.push(ndcg(places, own));
    alone.push(ndcg(rankPlaces(scores), own));
    for (const [at, part] of MIXES.entries()) {
      const both = scores.map((score, i) => part * score + (1 - part) * (first.hybrid[places[i] ?? -1] ?? 0));
      mixed[at]?.push(ndcg(rankPlaces(both), own));
    }
    scored.push(...scores.map((score, i) => ({ score, isRelevant: own.has(places[i] ?? -1) })));
    showProgress(query + 1, queries.length, `${name}, reranking`);
  }
  const ps = [alone, mixed[0] ?? []].map((values) => pairedBootstrap(values, hybrid));
  return { row: { name, cells: [queries.length, ...[keyword, hybrid, alone, ...mixed].map(mean), ...ps] }, scored };
}

function relevant(scored: readonly ScoredCandidate[], low: number, high = Number.POSITIVE_INFINITY): number {
  return mean(scored.filter(({ score }) => score >= low && score < high).map(({ isRelevant }) => (isRelevant ? 1 : 0)));
}
