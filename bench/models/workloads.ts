import { seededUniform } from '../harness/random-numbers.ts';

/** Words that are one token each in the vocabularies of all contenders. */
const WORDS = (
  'the of and to in for is on that by this with you it not or be are from at as your all have new more an was we will home ' +
  'can us about if page my has search free but our one other do no information time they site he up may what which their ' +
  'news out use any there see only so his when contact here business who web also now help get view online first been would'
).split(' ');

const QUERY_WORDS = 8;
const DOCUMENT_WORDS = 100;
/** Documents per request: a small first-stage result. */
const DOCUMENTS = 25;
const JUDGED_CHARS = 1000;

/** The routes that are measured. */
export type Task = 'embeddings' | 'rerank' | 'moderations';

/** One kind of request. */
export interface ModelWorkload {
  name: string;
  task: Task;
  /** Size of a request in `unit`: texts, query-document pairs, or characters. */
  units: number;
  unit: 'texts' | 'pairs' | 'characters';
  /** The tokens of its text, as the embedding model counts them. */
  tokens?: number;
  /** The body of a request; another seed is another text. */
  body(seed: number): object;
}

/** All measured workloads, in order. */
export const MODEL_WORKLOADS: readonly ModelWorkload[] = [
  ...[20, 200, 2000].map(
    (tokens): ModelWorkload => ({
      name: `${tokens.toLocaleString('en')} tokens`,
      task: 'embeddings',
      units: 1,
      unit: 'texts',
      tokens,
      body: (seed) => ({ model: 'embed-large-en-v1.5', input: words(seed, tokens), encoding_format: 'base64' }),
    }),
  ),
  {
    name: `${DOCUMENTS} documents of ${DOCUMENT_WORDS} words`,
    task: 'rerank',
    units: DOCUMENTS,
    unit: 'pairs',
    body: (seed) => ({
      model: 'reranker-v2-m3',
      query: words(seed, QUERY_WORDS),
      documents: randomTexts(seed, DOCUMENTS, DOCUMENT_WORDS),
      return_documents: false,
    }),
  },
  {
    name: `${JUDGED_CHARS.toLocaleString('en')} characters`,
    task: 'moderations',
    units: JUDGED_CHARS,
    unit: 'characters',
    body: (seed) => ({ input: words(seed, JUDGED_CHARS / 2).slice(0, JUDGED_CHARS) }),
  },
];

/** That many texts of that many words, by seed. */
export function randomTexts(seed: number, texts: number, count: number): string[] {
  return Array.from({ length: texts }, (_, at) => words(seed * texts + at, count));
}

/** That many words in random order: no text is sent twice, so no cache applies. */
function words(seed: number, count: number): string {
  const uniform = seededUniform(seed);
  return Array.from({ length: count }, () => WORDS[Math.floor(uniform() * WORDS.length)]).join(' ');
}
