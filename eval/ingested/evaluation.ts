import type { Evaluation } from '../../bench/harness/evaluation.ts';
import { appendMeanRow } from '../../bench/harness/metric-table.ts';
import { chunking } from '../retrieval/collections.ts';
import { FIVE, QUESTIONS } from '../retrieval/sets.ts';
import { chunkingTable } from './chunking.ts';
import { collectionTable } from './collections.ts';

const OTHERS = QUESTIONS.filter(({ name }) => name !== chunking.name);

/** Knowledge bases, through files, ingestion and retrieval; eval/README.md says what is measured. */
export const INGESTED: Evaluation = {
  name: 'ingested',
  models: ['embed-large-en-v1.5', 'reranker-v2-m3'],
  files: [...FIVE, ...OTHERS, chunking].flatMap(({ files }) => files),
  async *measure(service, data) {
    yield await chunkingTable(service, data);
    yield appendMeanRow(await collectionTable(service, data, 'Five collections, ingested', FIVE), FIVE.length);
    yield await collectionTable(service, data, 'Other collections, ingested', OTHERS);
  },
};
