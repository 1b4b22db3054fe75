import type { EmbeddingPurpose } from './embedding-engine.ts';

/** What a model wants before a query and before a document; a text without a purpose has nothing before it. */
export interface Prefixes {
  query: string;
  document: string;
}

const NONE: Prefixes = { query: '', document: '' };
const SEARCH = 'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:';
const PASSAGES = { query: 'Represent this sentence for searching relevant passages: ', document: '' };

/** By a part of the model's name, as its file or the file's name says it; the first that fits. Source: the models' cards. */
const PREFIXES_BY_MODEL: readonly (readonly [RegExp, Prefixes])[] = [
  [/bge[-_ ](small|base|large)[-_ ]en/, PASSAGES],
  [/mxbai[-_ ]embed[-_ ]large/, PASSAGES],
  [/arctic[-_ ]embed.*v2/, { query: 'query: ', document: '' }],
  [/arctic[-_ ]embed/, PASSAGES],
  [/e5[-_ ].*instruct/, { query: `${SEARCH} `, document: '' }],
  [/(^|[^a-z0-9])e5[-_ ]/, { query: 'query: ', document: 'passage: ' }],
  [/nomic[-_ ]embed/, { query: 'search_query: ', document: 'search_document: ' }],
  [/qwen3[-_ ]embedding/, { query: SEARCH, document: '' }],
];

/** The prefixes of a model by its names; none where it is not known. */
export function findPrefixes(...names: readonly (string | null)[]): Prefixes {
  for (const name of names) {
    const known = PREFIXES_BY_MODEL.find(([pattern]) => pattern.test((name ?? '').toLowerCase()));
    if (known !== undefined) return known[1];
  }
  return NONE;
}

/** What stands before a text of one purpose. */
export function prefixFor(prefixes: Prefixes, purpose: EmbeddingPurpose): string {
  return purpose === 'text' ? '' : prefixes[purpose];
}
