/** Evaluates `POST /v1/embeddings`; eval/README.md says what is measured. */
import { runEvaluation } from '../evaluation.ts';
import { chunking, paraphrases, stored } from './collections.ts';
import { EMBEDDER } from './embed.ts';
import { PAIR_FILES, pairSheet, searchSheet } from './sheets.ts';

const FIVE = [
  stored('cisi', 'glasgow_cisi'),
  stored('cacm', 'glasgow_cacm'),
  stored('lisa', 'glasgow_lisa'),
  stored('adi', 'glasgow_adi'),
  stored('cosqa', 'cosqa_dev_code'),
];
const OTHERS = [paraphrases, chunking, stored('trecqa', 'trecqa_wang_devtest'), stored('pubmedqa', 'pubmedqa_labeled')];
const LANGUAGES = ['en', 'de', 'es', 'ro', 'vi', 'tr', 'ru', 'el', 'ar', 'hi', 'th', 'zh'].map((language) =>
  stored(`xquad ${language}`, `xquad_${language}`),
);
const JAPANESE = stored('jaquad ja', 'jaquad_dev_ja');

await runEvaluation({
  name: 'retrieval',
  models: [EMBEDDER],
  files: [...[...FIVE, ...OTHERS, ...LANGUAGES, JAPANESE].flatMap(({ files }) => files), ...Object.values(PAIR_FILES)],
  async *measure(service, data) {
    yield await searchSheet(service, data, 'Five collections', { sources: FIVE, hasMean: true });
    yield await searchSheet(service, data, 'Other English collections', { sources: OTHERS });
    yield await searchSheet(service, data, 'Questions and paragraphs in other languages', {
      sources: [...LANGUAGES, JAPANESE],
    });
    yield await pairSheet(service, data);
  },
});
