/** Evaluates `POST /v1/embeddings`, or with `--through ingest` knowledge bases; eval/README.md says what is measured. */
import { runEvaluation } from '../../bench/harness/evaluation.ts';
import { appendMeanRow } from '../../bench/harness/metric-table.ts';
import { INGESTED } from '../ingested/evaluation.ts';
import { EMBEDDER } from './embed.ts';
import { FIVE, LANGUAGES, OTHER_WORDS, PUBMED, QUESTIONS } from './sets.ts';
import { PAIR_FILES, pairSheet, searchSheet } from './sheets.ts';

const OTHERS = [OTHER_WORDS, ...QUESTIONS, PUBMED];

await runEvaluation({
  name: 'retrieval',
  through: { ingest: INGESTED },
  models: [EMBEDDER],
  files: [...[...FIVE, ...OTHERS, ...LANGUAGES].flatMap(({ files }) => files), ...Object.values(PAIR_FILES)],
  async *measure(service, data) {
    yield appendMeanRow(await searchSheet(service, data, 'Five collections', FIVE), FIVE.length);
    yield await searchSheet(service, data, 'Other English collections', OTHERS);
    yield await searchSheet(service, data, 'Questions and paragraphs in other languages', LANGUAGES);
    yield await pairSheet(service, data);
  },
});
