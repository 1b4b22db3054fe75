import { Index, MatchQuery, type Table } from '@lancedb/lancedb';
import { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';
import { type Condition, oneOf, whereOf } from './filter.ts';

/** A chunk that a search has found. */
export interface ChunkHit {
  id: string;
  /** Cosine of the vectors of query and chunk, -1 to 1; null where the search had no vector. */
  cosine: number | null;
  /** BM25 of the query's words in the chunk, 0 and up; null where the search had no text. */
  bm25: number | null;
}

/** Columns of a table: those of every table, and one of numbers and one of dates for each of 256 keys and what is known of a chunk. */
const MAX_COLUMNS = 527;
/** Parts of an approximate index that are searched, and how many times `limit` is compared exactly: more than the recall of .95 needed when LanceDB was chosen. */
const PROBES = 40;
const REFINE_FACTOR = 10;

/** Whether a column has an index. */
export async function hasIndex(table: Table, column: 'terms' | 'vector'): Promise<boolean> {
  return (await table.listIndices()).some(({ columns }) => columns.includes(column));
}

/** Builds the keyword index, or builds it again. Terms are what `termsOf` makes of a text: they are taken as they are. */
export async function buildTerms(table: Table): Promise<void> {
  const config = Index.fts({
    baseTokenizer: 'whitespace',
    lowercase: false,
    stem: false,
    removeStopWords: false,
    asciiFolding: false,
    withPosition: false,
    maxTokenLength: 256,
  });
  await table.createIndex('terms', { config, replace: true });
}

/** Builds the approximate index of the vectors. */
export async function buildVectors(table: Table): Promise<void> {
  await table.createIndex('vector', { config: Index.ivfRq({ distanceType: 'cosine' }), replace: true });
}

/** Adds columns of numbers that the table does not have, as far as it may have more, and gives those of the wanted that it has then. */
export async function addColumns(table: Table, wanted: readonly string[]): Promise<string[]> {
  const known = await columnsOf(table);
  const room = Math.max(0, MAX_COLUMNS - known.size);
  const missing = wanted.filter((column) => !known.has(column)).slice(0, room);
  if (missing.length > 0) await table.addColumns(missing.map((name) => ({ name, valueSql: 'cast(null as double)' })));
  return wanted.filter((column) => known.has(column) || missing.includes(column));
}

async function columnsOf(table: Table): Promise<ReadonlySet<string>> {
  return new Set((await table.schema()).fields.map(({ name }) => name));
}

/** The conditions as the table's SQL; null where there are none. */
export async function whereIn(table: Table, conditions: readonly Condition[]): Promise<string | null> {
  return conditions.length === 0 ? null : whereOf(conditions, await columnsOf(table));
}

/** The chunks whose vectors are nearest. */
export async function nearest(
  table: Table,
  vector: Float32Array,
  { where, limit }: { where: string | null; limit: number },
): Promise<{ id: string; cosine: number }[]> {
  const query = table.query().nearestTo(vector).distanceType('cosine').limit(limit).select(['id', '_distance']);
  if (await hasIndex(table, 'vector')) query.nprobes(PROBES).refineFactor(REFINE_FACTOR);
  const rows: { id: string; _distance: number }[] = await (where === null ? query : query.where(where)).toArray();
  return rows.map(({ id, _distance }) => ({ id, cosine: 1 - _distance }));
}

/**
 * The chunks that have any of the words, the best first. With a vector, the rows' own vectors come along, so that their cosine needs
 * no second search.
 */
export async function matches(
  table: Table,
  words: readonly string[],
  { where, limit, vector }: { where: string | null; limit: number; vector: Float32Array | null },
): Promise<{ id: string; cosine: number | null; bm25: number }[]> {
  const query = table
    .query()
    .fullTextSearch(new MatchQuery(words.join(' '), 'terms'))
    .limit(limit)
    .select(vector === null ? ['id', '_score'] : ['id', '_score', 'vector']);
  const found = await (where === null ? query : query.where(where)).toArrow();
  const ids = found.getChild('id');
  const scores = found.getChild('_score');
  const vectors = found.getChild('vector');
  return Array.from({ length: found.numRows }, (_, i) => ({
    id: String(ids?.get(i)),
    bm25: Number(scores?.get(i)),
    cosine: vector === null ? null : dot(vector, vectors?.get(i)?.toArray() ?? []),
  }));
}

/** Asks for the keyword score of those hits that were found by their vector alone: it may be above 0 all the same. */
export async function addMissingScores(
  table: Table,
  words: readonly string[],
  { hits, scored }: { hits: Map<string, ChunkHit>; scored: ReadonlySet<string> },
): Promise<void> {
  const missing = [...hits.keys()].filter((id) => !scored.has(id));
  if (words.length === 0 || missing.length === 0) return;
  const found = await matches(table, words, { where: oneOf('id', missing), limit: missing.length, vector: null });
  for (const { id, bm25 } of found) {
    const hit = hits.get(id);
    if (hit !== undefined) hit.bm25 = bm25;
  }
}

/** Of vectors of length 1: their cosine. */
function dot(a: Float32Array, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < EMBEDDING_DIMENSIONS; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
