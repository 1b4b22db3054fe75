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
import { best, ndcg, recall } from '../measures/ranking.ts';
import type { CollectionSource } from '../retrieval/collections.ts';
import { Search } from '../retrieval/search.ts';
import { EvaluatedBase } from './knowledge-base.ts';

/** Depth of the recall: the maximum `top_k` of a retrieval. */
const DEPTH = 100;
/** One chunk per document: documents of the collections are short. */
const CHUNKING = { type: 'recursive', chunk_size: 2048, chunk_overlap: 0 };
/** Search types, with and without reranking. */
const WAYS = ['keyword', 'vector', 'hybrid'].flatMap((search_type) => [
  { search_type, rerank: false },
  { search_type, rerank: true },
]);
const HYBRID = 4;

/**
 * nDCG@10 and Recall@100 of each way to search, of collections that were ingested as JSONL files; p is of hybrid
 * against BM25.
 */
export async function collectionTable(
  service: ServiceClient,
  data: string,
  title: string,
  sources: readonly CollectionSource[],
): Promise<MetricTable> {
  const rows: MetricRow[] = [];
  for (const source of sources) rows.push(await measured(service, source, data));
  const columns = [
    countColumn('queries'),
    metricColumn('BM25'),
    ...WAYS.map(({ search_type, rerank }) => metricColumn(rerank ? `${search_type}, reranked` : search_type)),
    pValueColumn('p'),
    ...['BM25', 'keyword', 'vector', 'hybrid'].map((way) => metricColumn(`R@100 ${way}`)),
  ];
  return { title, subject: 'nDCG@10', columns, rows };
}

async function measured(service: ServiceClient, source: CollectionSource, data: string): Promise<MetricRow> {
  const collection = source.read(data);
  const content = collection.documents.map((text, place) => JSON.stringify({ text, place })).join('\n');
  const base = await EvaluatedBase.fill(service, [{ name: 'collection.jsonl', content }], CHUNKING);
  const baseline = await Search.of(service, collection);
  const plain = { ndcg: [] as number[], recall: [] as number[] };
  const found = WAYS.map(() => ({ ndcg: [] as number[], recall: [] as number[] }));
  for (const [at, query] of collection.queries.entries()) {
    showProgress(at, collection.queries.length, source.name);
    const gains = collection.gains[at] ?? new Map();
    const words = best(baseline.scores(at).keyword, DEPTH);
    plain.ndcg.push(ndcg(words, gains));
    plain.recall.push(recall(words, gains));
    for (const [way, wanted] of WAYS.entries()) {
      const chunks = await base.retrieve(query, DEPTH, wanted);
      const ranking = [...new Set(chunks.map(({ metadata }) => Number(metadata['place'])))];
      found[way]?.ndcg.push(ndcg(ranking, gains));
      found[way]?.recall.push(recall(ranking, gains));
    }
  }
  return {
    name: source.name,
    cells: [
      collection.queries.length,
      mean(plain.ndcg),
      ...found.map((way) => mean(way.ndcg)),
      pairedBootstrap(found[HYBRID]?.ndcg ?? [], plain.ndcg),
      mean(plain.recall),
      ...found.filter((_, way) => WAYS[way]?.rerank === false).map((way) => mean(way.recall)),
    ],
  };
}
