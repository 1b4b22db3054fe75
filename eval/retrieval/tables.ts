import { readJsonLines } from '../../bench/harness/data-set.ts';
import {
  countColumn,
  type MetricColumn,
  type MetricRow,
  type MetricTable,
  metricColumn,
  pValueColumn,
} from '../../bench/harness/metric-table.ts';
import type { ServiceClient } from '../../bench/harness/service-client.ts';
import { mean, pairedBootstrap, spearman } from '../../bench/harness/statistics.ts';
import { best, ndcg, recall } from '../measures/ranking.ts';
import type { CollectionSource } from './collections.ts';
import { dot, embedTexts } from './embedding-client.ts';
import { Search } from './search.ts';

/** Depth of the recall. */
const DEPTH = 100;
const WAYS = ['keyword', 'vector', 'hybrid'] as const;
const COLUMNS: readonly MetricColumn[] = [
  countColumn('queries'),
  ...['BM25', 'vectors', 'hybrid'].map(metricColumn),
  pValueColumn('p'),
  ...['Recall@100: BM25', 'vectors, R', 'hybrid, R'].map(metricColumn),
];

/** Sets of graded sentence pairs: how alike two sentences are, or whether they say the same. */
export const PAIR_FILES = {
  stsb: 'sts/stsb_en.jsonl.gz',
  sick: 'sts/sts_sick.jsonl.gz',
  msrp: 'sts/msrp.jsonl.gz',
} as const;

/** nDCG@10 and Recall@100 of BM25, the vectors and both together on each collection; p is of hybrid against BM25. */
export async function searchTable(
  service: ServiceClient,
  data: string,
  title: string,
  sources: readonly CollectionSource[],
): Promise<MetricTable> {
  const rows: MetricRow[] = [];
  for (const source of sources) rows.push(measured(await Search.of(service, source.read(data))));
  return { title, subject: 'nDCG@10', columns: COLUMNS, rows };
}

function measured(search: Search): MetricRow {
  const { name, queries, gains } = search.collection;
  const found = { keyword: new Ways(), vector: new Ways(), hybrid: new Ways() };
  for (const [query, own] of gains.entries()) {
    const scores = search.scores(query);
    for (const way of WAYS) {
      const ranking = best(scores[way], DEPTH);
      found[way].ndcg.push(ndcg(ranking, own));
      found[way].recall.push(recall(ranking, own));
    }
  }
  const p = pairedBootstrap(found.hybrid.ndcg, found.keyword.ndcg);
  const means = (measure: keyof Ways): number[] => WAYS.map((way) => mean(found[way][measure]));
  return { name, cells: [queries.length, ...means('ndcg'), p, ...means('recall')] };
}

/** Metrics per query of one search type. */
class Ways {
  readonly ndcg: number[] = [];
  readonly recall: number[] = [];
}

interface Pair {
  a: string;
  b: string;
  score?: number;
  label?: number;
  split?: string;
}

/** Spearman's correlation of the cosine with human similarity ratings. */
export async function pairTable(service: ServiceClient, data: string): Promise<MetricTable> {
  const sets: [string, Pair[]][] = [
    ['STS-B test', readJsonLines<Pair>(data, PAIR_FILES.stsb).filter(({ split }) => split === 'test')],
    ['sts_sick', readJsonLines<Pair>(data, PAIR_FILES.sick)],
    ['MSRP', readJsonLines<Pair>(data, PAIR_FILES.msrp)],
  ];
  const rows: MetricRow[] = [];
  for (const [name, pairs] of sets) {
    const texts = pairs.flatMap(({ a, b }) => [a, b]);
    const vectors = await embedTexts(service, texts, name);
    const cosines = pairs.map((_, at) =>
      dot(vectors[2 * at] ?? new Float32Array(), vectors[2 * at + 1] ?? new Float32Array()),
    );
    const said = pairs.map(({ score, label }) => score ?? label ?? Number.NaN);
    rows.push({ name, cells: [pairs.length, spearman(cosines, said)] });
  }
  return { title: 'Sentence pairs', subject: 'set', columns: [countColumn('pairs'), metricColumn('Spearman')], rows };
}
