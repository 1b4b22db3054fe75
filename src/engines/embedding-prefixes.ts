import type { EmbeddingPurpose } from './embedding-engine.ts';

/** Prefixes of queries and documents; texts without a purpose get none. */
export interface Prefixes {
  query: string;
  document: string;
}

const NONE: Prefixes = { query: '', document: '' };
const SEARCH = 'Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:';
const PASSAGES = { query: 'Represent this sentence for searching relevant passages: ', document: '' };

/** Prefixes by a substring of the model's name; the first match applies. Source: model cards. */
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

/** Returns the prefixes of a model by its names; none for unknown models. */
export function findPrefixes(...names: readonly (string | null)[]): Prefixes {
  for (const name of names) {
    const entry = PREFIXES_BY_MODEL.find(([pattern]) => pattern.test((name ?? '').toLowerCase()));
    if (entry !== undefined) return entry[1];
  }
  return NONE;
}

/** The most bytes of any model's prefix for a purpose. */
export const maxPrefixBytes = (purpose: EmbeddingPurpose): number =>
  Math.max(...PREFIXES_BY_MODEL.map(([, prefixes]) => prefixFor(prefixes, purpose).length));

/** Returns the prefix for one purpose. */
export function prefixFor(prefixes: Prefixes, purpose: EmbeddingPurpose): string {
  return purpose === 'text' ? '' : prefixes[purpose];
}
