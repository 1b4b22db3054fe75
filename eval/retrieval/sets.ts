import { chunking, paraphrases, stored } from './collections.ts';

/** The collections of the headline mean: library science, computer science and code. */
export const FIVE = [
  stored('cisi', 'glasgow_cisi'),
  stored('cacm', 'glasgow_cacm'),
  stored('lisa', 'glasgow_lisa'),
  stored('adi', 'glasgow_adi'),
  stored('cosqa', 'cosqa_dev_code'),
];

/** Question answering collections. */
export const QUESTIONS = [chunking, stored('trecqa', 'trecqa_wang_devtest')];

/** A collection that keyword search nearly solves. */
export const PUBMED = stored('pubmedqa', 'pubmedqa_labeled');

/** Paraphrase retrieval. */
export const OTHER_WORDS = paraphrases;

/** Questions and paragraphs in twelve languages, and in Japanese. */
export const LANGUAGES = [
  ...['en', 'de', 'es', 'ro', 'vi', 'tr', 'ru', 'el', 'ar', 'hi', 'th', 'zh'].map((language) =>
    stored(`xquad ${language}`, `xquad_${language}`),
  ),
  stored('jaquad ja', 'jaquad_dev_ja'),
];
