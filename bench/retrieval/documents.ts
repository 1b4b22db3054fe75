import { detectLanguage } from '../../src/search/languages.ts';
import { readGzipText, readJsonLines } from '../harness/data-set.ts';
import { seededUniform } from '../harness/random-numbers.ts';

/** A document to ingest: a line of a JSONL file with filterable fields. */
export interface BenchDocument {
  text: string;
  /** One of ten, as many documents each. */
  shelf: string;
  /** One of a hundred. */
  desk: string;
  /** One of a hundred, from `FIRST_YEAR`. */
  year: number;
}

/** The smallest `year`. */
export const FIRST_YEAR = 1925;

/** Approximate document size: long texts are split, short ones are joined. */
const DOCUMENT_CHARACTERS = 4000;
/** Number of queries that are used. */
const QUERIES = 500;
const SEED = 20_261_121;
/**
 * Minimum share of documents for a language of the knowledge base
 * (`src/knowledge-bases/retrieval/document-languages.ts`).
 */
const MIN_LANGUAGE_SHARE = 0.05;

interface Pair {
  a: string;
  b: string;
}

interface Talk {
  messages: { content: string | null }[];
}

const passage = ({ b }: Pair): string => b;
const talk = ({ messages }: Talk): string => messages.map(({ content }) => content ?? '').join('\n');

/** English corpora: paths, and the text of a row. */
const SOURCES: readonly [file: string, textOf: (row: never) => string][] = [
  ['pairs/oss_docs_heading_section.jsonl.gz', passage],
  ['pairs/opensearch_docs_heading_section.jsonl.gz', passage],
  ['pairs/medquad_question_answer.jsonl.gz', passage],
  ['pairs/cnn_dailymail_highlight_article.jsonl.gz', passage],
  ['pairs/xsum_summary_article.jsonl.gz', passage],
  ['pairs/dolly_question_context.jsonl.gz', passage],
  ['pairs/hotpotqa_question_context_dev.jsonl.gz', passage],
  ['pairs/tldr_description_command.jsonl.gz', ({ a, b }: Pair) => `${a}: ${b}`],
  ['chat/qed_dev.jsonl.gz', (row: { passage: string }) => row.passage],
  ['chat/wikisplit.jsonl.gz', ({ sentence }: { sentence: string }) => sentence],
  [
    'chat/gsm8k_train.jsonl.gz',
    ({ question, answer }: { question: string; answer: string }) => `${question}\n${answer}`,
  ],
  ['chat/dolly_6400.jsonl.gz', talk],
  ['chat/topicalchat_valid_test.jsonl.gz', talk],
  ['chat/taskmaster4_tool_dialogues.jsonl.gz', talk],
  ['chat/sgd_tool_dialogues_train.jsonl.gz', talk],
  ['moderation/toxic_spans_civil.jsonl.gz', ({ text }: { text: string }) => text],
  ['moderation/wikipedia_identity_nontoxic.jsonl.gz', ({ text }: { text: string }) => text],
  ['moderation/wikipedia_talk_toxicity.jsonl.gz', ({ text }: { text: string }) => text],
];
/** Test collections, whose documents and queries are used. */
const COLLECTIONS = [
  'glasgow_cisi',
  'glasgow_cacm',
  'glasgow_lisa',
  'glasgow_adi',
  'cosqa_dev_code',
  'trecqa_wang_devtest',
  'pubmedqa_labeled',
  'xquad_en',
].map((name) => `retrieval/${name}`);
const LONG_TEXTS = ['chatlogs', 'finance', 'pubmed', 'state_of_the_union', 'wikitexts'].map(
  (name) => `chunking/raw/corpora/${name}.md.gz`,
);

/** Files required below the data folder. */
export const REQUIRED_FILES: readonly string[] = [
  ...SOURCES.map(([file]) => file),
  ...COLLECTIONS.flatMap((folder) => [`${folder}/corpus.jsonl.gz`, `${folder}/queries.jsonl.gz`]),
  ...LONG_TEXTS,
];

/** All documents in a fixed random order, so that any prefix is a sample. */
export function readDocuments(data: string): BenchDocument[] {
  const known = new Set<string>();
  const isNew = (text: string): boolean => known.size < known.add(text).size;
  const groups = [
    ...SOURCES.map(([file, textOf]) => readJsonLines<never>(data, file).map(textOf)),
    ...COLLECTIONS.map((folder) =>
      readJsonLines<{ title?: string; text: string }>(data, `${folder}/corpus.jsonl.gz`).map(({ title, text }) =>
        `${title ?? ''}\n${text}`.trim(),
      ),
    ),
    ...LONG_TEXTS.map((file) => [readGzipText(data, file)]),
  ];
  const texts = groups.flatMap((group) => [...documentTexts(group.filter(isNew))]);
  return shuffled(texts).map((text, at) => ({
    text,
    shelf: `shelf-${at % 10}`,
    desk: `desk-${at % 100}`,
    year: FIRST_YEAR + ((at * 37) % 100),
  }));
}

/** A sample of the distinct queries in random order. */
export function readQueries(data: string): string[] {
  const rows = COLLECTIONS.flatMap((folder) => readJsonLines<{ text: string }>(data, `${folder}/queries.jsonl.gz`));
  return shuffled([...new Set(rows.map(({ text }) => text))]).slice(0, QUERIES);
}

/** Languages in which the service stems queries. */
export function languagesOf(documents: readonly BenchDocument[]): ReturnType<typeof detectLanguage>[] {
  const counts = new Map<ReturnType<typeof detectLanguage>, number>();
  for (const { text } of documents) {
    const language = detectLanguage(text);
    counts.set(language, (counts.get(language) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count >= documents.length * MIN_LANGUAGE_SHARE)
    .map(([language]) => language);
}

/** Splits or joins texts to documents of about `DOCUMENT_CHARACTERS`. */
export function* documentTexts(texts: Iterable<string>): Generator<string> {
  let open = '';
  for (const text of texts) {
    for (const piece of piecesOf(text)) {
      if (open !== '' && open.length + piece.length > DOCUMENT_CHARACTERS) {
        yield open;
        open = '';
      }
      open = open === '' ? piece : `${open}\n\n${piece}`;
    }
  }
  if (open !== '') yield open;
}

/** Splits a text at white space into pieces of at most `DOCUMENT_CHARACTERS`. */
function* piecesOf(text: string): Generator<string> {
  let from = 0;
  while (text.length - from > DOCUMENT_CHARACTERS) {
    const space = text.lastIndexOf(' ', from + DOCUMENT_CHARACTERS);
    const end = space > from ? space : from + DOCUMENT_CHARACTERS;
    yield text.slice(from, end);
    from = end;
  }
  const rest = text.slice(from).trim();
  if (rest !== '') yield rest;
}

function shuffled<T>(items: readonly T[]): T[] {
  const uniform = seededUniform(SEED);
  return items
    .map((item) => ({ item, place: uniform() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
