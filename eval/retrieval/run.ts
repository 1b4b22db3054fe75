/**
 * Evaluates `POST /v1/embeddings`, or with `--through ingest` knowledge bases; eval/README.md says what is measured.
 */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import { appendMeanRow } from '../../bench/harness/metric-table.ts';
import { INGESTED } from '../ingested/evaluation.ts';
import { EMBEDDER } from './embedding-client.ts';
import { FIVE, LANGUAGES, OTHER_WORDS, PUBMED, QUESTIONS } from './sets.ts';
import { PAIR_FILES, pairTable, searchTable } from './tables.ts';

const OTHERS = [OTHER_WORDS, ...QUESTIONS, PUBMED];

await runEvaluation({
  name: 'retrieval',
  through: { ingest: INGESTED },
  models: [EMBEDDER],
  files: [...[...FIVE, ...OTHERS, ...LANGUAGES].flatMap(({ files }) => files), ...Object.values(PAIR_FILES)],
  async *measure(service, data) {
    yield appendMeanRow(await searchTable(service, data, 'Five collections', FIVE), FIVE.length);
    yield await searchTable(service, data, 'Other English collections', OTHERS);
    yield await searchTable(service, data, 'Questions and paragraphs in other languages', LANGUAGES);
    yield await pairTable(service, data);
  },
});
