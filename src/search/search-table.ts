import type { Table } from '@lancedb/lancedb';
import { FIRST_VECTOR_COLUMN } from './chunk-rows.ts';
import { type ChunkHit, invalidateFacts, searchTerms, searchVectors, tableFacts, whereClause } from './chunk-table.ts';
import type { Condition } from './filter.ts';
import type { Language } from './languages.ts';
import { tokenizeQuery } from './terms.ts';

/** A keyword query. */
export interface KeywordQuery {
  text: string;
  /** Languages of the documents: the query's words are stemmed in each. */
  languages: readonly Language[];
  /** Ends the wait for other searches. */
  signal: AbortSignal;
}

/** A search. With both vector and text, every hit has both scores, or an upper bound of its BM25 score. */
export interface ChunkSearch extends Omit<KeywordQuery, 'text'> {
  /** 1024 floats, L2-normalised. */
  vector: Float32Array | null;
  /** The column of the vectors that `vector` is compared with; that of a new table if absent. */
  vectorColumn?: string;
  text: string | null;
  /** Filters, applied before scoring. */
  conditions: readonly Condition[];
  /** Maximum hits by vector, and by text. */
  limit: number;
}

/** The column of the vectors does not exist any more. */
export class VectorsDroppedError extends Error {
  override readonly name = 'VectorsDroppedError';
}

/** Returns the best chunks of a table, unordered. Throws a `VectorsDroppedError`. */
export async function searchTable(table: Table, search: ChunkSearch): Promise<ChunkHit[]> {
  if (!(await tableFacts(table)).indexed.has('terms')) return [];
  const where = await whereClause(table, search.conditions);
  const terms = search.text === null ? [] : tokenizeQuery(search.text, search.languages);
  const { vector, vectorColumn: column = FIRST_VECTOR_COLUMN } = search;
  const query = vector === null ? null : { vector, column };
  const [near, matching] = await Promise.all([
    query === null ? [] : searchVectors(table, query, { where, limit: search.limit }),
    terms.length === 0 ? [] : searchTerms(table, terms, { where, limit: search.limit, near: query }),
  ]).catch(async (error: unknown) => {
    invalidateFacts(table);
    if (query === null || (await tableFacts(table)).columns.has(column)) throw error;
    throw new VectorsDroppedError();
  });
  const hits = new Map<string, ChunkHit>();
  const unseen = maxUnseenBm25(matching, search.limit);
  for (const { id, cosine } of near) {
    hits.set(id, { id, cosine, bm25: search.text === null ? null : unseen, isBound: unseen > 0 });
  }
  for (const { id, cosine, bm25 } of matching) {
    hits.set(id, { id, cosine: hits.get(id)?.cosine ?? cosine, bm25, isBound: false });
  }
  return [...hits.values()];
}

/** Upper bound of the BM25 score of chunks that are not among the best `limit`; 0 when fewer match. */
function maxUnseenBm25(matching: readonly { bm25: number }[], limit: number): number {
  return matching.length < limit ? 0 : Math.min(...matching.map(({ bm25 }) => bm25));
}
