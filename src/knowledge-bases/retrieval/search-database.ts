import type { Deps } from '../../deps.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import { currentOrganization } from '../../lib/organization-context.ts';
import type { ChunkHit } from '../../search/chunk-table.ts';
import { meetsConditions } from '../../search/filter.ts';
import type { ChunkSearch } from '../../search/search-table.ts';
import { tokenizeQuery, tokenizeText } from '../../search/terms.ts';
import { toIndexedChunk } from '../ingestion/write-documents.ts';
import type { KnowledgeBaseRow } from '../store.ts';
import { type KeywordTerm, type Match, scanChunks, selectTexts } from './keyword-store.ts';

/** Maximum distinct terms of a query that are searched for; the first ones. Each is compared with every chunk. */
const MAX_TERMS = 16;
/** Minimum matching chunks whose texts are scored, and with filters, which apply to these chunks only. */
const MIN_SCORED = 200;
const MAX_FILTERED = 1_000;
/** Time limit of a search, with its wait for others. A scan that takes longer leaves chunks out. */
const TIME_LIMIT_MS = 5_000;
/** A search reads every chunk and occupies a core, so few run at a time. */
const searches = new FairSemaphore({ total: 2, perGroup: 1 });

/** Parameters of BM25, as in LanceDB. */
const K1 = 1.2;
const B = 0.75;

/**
 * Searches the stored chunks of a knowledge base by keyword in PostgreSQL, without the index. Returns hits with BM25
 * scores, unordered; null when the time limit ends the search before it has hits. Slower than the index by orders of
 * magnitude, and less complete: matches words that begin with a stem of the query, with the same accents.
 */
export async function searchDatabase(
  { db }: Pick<Deps, 'db'>,
  base: Pick<KnowledgeBaseRow, 'id' | 'chunkCount'>,
  { signal, conditions, limit, ...query }: ChunkSearch & { text: string },
): Promise<ChunkHit[] | null> {
  const terms = parseTerms(query);
  if (terms.length === 0) return [];
  const deadline = Date.now() + TIME_LIMIT_MS;
  const documentIds = conditions.flatMap((condition) => (condition.on === 'document_id' ? [condition.value] : []));
  const timeout = AbortSignal.timeout(TIME_LIMIT_MS);
  const scan = searches.within(currentOrganization(), AbortSignal.any([signal, timeout]), () =>
    scanChunks(db.sql, { baseId: base.id, terms, documentIds, deadline }),
  );
  const result = await scan.catch((error: unknown) => {
    if (error === timeout.reason) return null;
    throw error;
  });
  if (result === null || (result.matches.length === 0 && !result.isComplete)) return null;
  const weights = weighTerms(terms, result.matches, base.chunkCount);
  const count = conditions.length > 0 ? MAX_FILTERED : Math.max(MIN_SCORED, limit);
  const rows = await selectTexts(db.sql, selectBest(result.matches, weights, count));
  const texts = rows
    .map(({ chunk, document }) => toIndexedChunk(document, chunk, null))
    .filter((chunk) => meetsConditions(chunk, conditions))
    .map(({ id, text, language }) => ({ id, words: tokenizeText(text, language) }));
  const averageLength = texts.reduce((sum, { words }) => sum + words.length, 0) / texts.length;
  return texts.flatMap(({ id, words }) => {
    const norm = K1 * (1 - B + (B * words.length) / averageLength);
    const bm25 = weights.reduce((score, { term, weight }) => {
      const frequency = words.filter((word) => word === term).length;
      return score + (weight * frequency * (K1 + 1)) / (frequency + norm);
    }, 0);
    return bm25 > 0 ? [{ id, cosine: null, bm25, isBound: false }] : [];
  });
}

/** Terms of the query with the substrings of chunks that may contain them. */
function parseTerms({ text, languages }: Pick<ChunkSearch, 'languages'> & { text: string }): KeywordTerm[] {
  const terms = new Map<string, KeywordTerm>();
  for (const run of text.split(/\s+/)) {
    const words = run.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
    for (const term of tokenizeQuery(run, languages)) {
      const previous = terms.get(term);
      if (previous === undefined && terms.size === MAX_TERMS) continue;
      const isWord = words.length === 1 && !/\p{N}/u.test(term) && [...term].length > 2;
      const substrings = new Set([term, ...(isWord ? words : [])].flatMap(writtenForms));
      terms.set(term, { term, count: (previous?.count ?? 0) + 1, substrings: [...substrings] });
    }
  }
  return [...terms.values()];
}

/** Beginnings of a word in lower, upper and title case. The last letter of a stem may be another one in the text. */
function writtenForms(word: string): string[] {
  const start = /^\p{L}{5,}$/u.test(word) ? word.slice(0, -1) : word;
  const lower = start.toLowerCase();
  return [start, lower, start.toUpperCase(), `${lower.slice(0, 1).toUpperCase()}${lower.slice(1)}`];
}

interface WeightedTerm {
  term: string;
  /** Inverse document frequency of BM25, times the occurrences in the query. */
  weight: number;
}

function weighTerms(terms: readonly KeywordTerm[], matches: readonly Match[], total: number): WeightedTerm[] {
  return terms.map(({ term, count }, i) => {
    const frequency = matches.filter(({ flags }) => flags[i] === true).length;
    return { term, weight: count * Math.log(1 + (Math.max(0, total - frequency) + 0.5) / (frequency + 0.5)) };
  });
}

/** Ids of the matches with the most and rarest terms. */
function selectBest(matches: readonly Match[], weights: readonly WeightedTerm[], count: number): string[] {
  return matches
    .map(({ id, flags }) => ({ id, weight: weights.reduce((sum, { weight }, i) => sum + (flags[i] ? weight : 0), 0) }))
    .sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
    .slice(0, count)
    .map(({ id }) => id);
}
