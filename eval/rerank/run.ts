/** Evaluates `POST /v1/rerank`; eval/README.md says what is measured. */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import { appendMeanRow } from '../../bench/harness/metric-table.ts';
import { EMBEDDER } from '../retrieval/embedding-client.ts';
import { FIVE, PUBMED, QUESTIONS } from '../retrieval/sets.ts';
import { RERANKER } from './rerank-client.ts';
import { sentenceTable } from './sentence-table.ts';
import { SENTENCE_FILES } from './sentences.ts';
import { rerankTables } from './tables.ts';

const SOURCES = [...FIVE, ...QUESTIONS, PUBMED];

await runEvaluation({
  name: 'rerank',
  models: [RERANKER, EMBEDDER],
  files: [...SOURCES.flatMap(({ files }) => files), ...SENTENCE_FILES],
  async *measure(service, data) {
    yield await sentenceTable(service, data);
    const [ranking, ...others] = await rerankTables(service, data, SOURCES);
    if (ranking !== undefined) yield appendMeanRow(ranking, FIVE.length);
    yield* others;
  },
});
