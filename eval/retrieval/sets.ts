import { chunking, paraphrases, stored } from './collections.ts';

/** The collections whose mean counts: library science, computer science, and code. */
export const FIVE = [
  stored('cisi', 'glasgow_cisi'),
  stored('cacm', 'glasgow_cacm'),
  stored('lisa', 'glasgow_lisa'),
  stored('adi', 'glasgow_adi'),
  stored('cosqa', 'cosqa_dev_code'),
];

/** Questions and the passages that answer. */
export const QUESTIONS = [chunking, stored('trecqa', 'trecqa_wang_devtest')];

/** Where keyword search finds nearly everything. */
export const PUBMED = stored('pubmedqa', 'pubmedqa_labeled');

/** The same question in other words. */
export const OTHER_WORDS = paraphrases;

/** Questions and paragraphs in twelve languages, and in Japanese. */
export const LANGUAGES = [
  ...['en', 'de', 'es', 'ro', 'vi', 'tr', 'ru', 'el', 'ar', 'hi', 'th', 'zh'].map((language) =>
    stored(`xquad ${language}`, `xquad_${language}`),
  ),
  stored('jaquad ja', 'jaquad_dev_ja'),
];
