import { Index, MatchQuery, type Table, type VectorQuery } from '@lancedb/lancedb';
import { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';
import { type Condition, oneOf, whereOf } from './filter.ts';

/** A chunk that a search has found. */
export interface ChunkHit {
  id: string;
  /** Cosine of the vectors of query and chunk, -1 to 1; null where the search had no vector. */
  cosine: number | null;
  /** BM25 of the query's words in the chunk, 0 and up; null where the search had no text. */
  bm25: number | null;
  /** Whether the chunk's BM25 is not known, only that it is no more than `bm25`. */
  isBound: boolean;
}

/** Columns of a table: those of every table, and one of numbers and one of dates for each of 256 keys and what is known of a chunk. */
const MAX_COLUMNS = 527;
/** How long what is known of a table is taken to be so, where another process may change it. Own writes are seen at once. */
const FACTS_MS = 1_000;

/** Vectors that a part of the approximate index has on the average: LanceDB makes as many parts as that gives. */
const VECTORS_PER_PART = 4096;
/**
 * The parts of an approximate index that are looked at: this share of them, and never fewer than so many. With 20 of 24 parts recall@10 was
 * .998 over 100,000 chunks, with 10 of them .947 (docs/decisions/0012-search.md).
 */
const PROBED_SHARE = 0.8;
const MIN_PROBES = 20;
/** How many times `limit` is compared exactly, and how many vectors at least: recall is that of these, however few of them are wanted. */
const REFINE_FACTOR = 3;
const MIN_REFINED = 300;

/** What is known of a table. */
export interface TableFacts {
  rows: number;
  columns: ReadonlySet<string>;
  /** Columns that have an index. */
  indexed: ReadonlySet<string>;
}

const factsOf = new WeakMap<Table, { until: number; facts: Promise<TableFacts> }>();

/** What is known of the table, asked at most once a second. */
export function knownOf(table: Table): Promise<TableFacts> {
  const known = factsOf.get(table);
  if (known !== undefined && known.until > performance.now()) return known.facts;
  const facts = askFacts(table);
  factsOf.set(table, { until: performance.now() + FACTS_MS, facts });
  facts.catch(() => factsOf.delete(table));
  return facts;
}

/** Says that the table was written. */
export function forgetFacts(table: Table): void {
  factsOf.delete(table);
}

async function askFacts(table: Table): Promise<TableFacts> {
  const [rows, schema, indices] = await Promise.all([table.countRows(), table.schema(), table.listIndices()]);
  return {
    rows,
    columns: new Set(schema.fields.map(({ name }) => name)),
    indexed: new Set(indices.flatMap(({ columns }) => columns)),
  };
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

/** Builds what finds the rows of ids, documents and labels without reading all of them. */
export async function buildLookups(table: Table): Promise<void> {
  await table.createIndex('id', { config: Index.btree(), replace: true });
  await table.createIndex('document_id', { config: Index.btree(), replace: true });
  await table.createIndex('labels', { config: Index.labelList(), replace: true });
}

/**
 * Has a query for the nearest `limit` look at as many parts of an approximate index over so many rows, and compare as many vectors exactly,
 * as recall needs.
 */
export function approximately(query: VectorQuery, { rows, limit }: { rows: number; limit: number }): VectorQuery {
  const probes = Math.max(MIN_PROBES, Math.ceil((rows / VECTORS_PER_PART) * PROBED_SHARE));
  return query.nprobes(probes).refineFactor(Math.max(REFINE_FACTOR, Math.ceil(MIN_REFINED / limit)));
}

/** Adds columns of numbers that the table does not have, as far as it may have more, and gives those of the wanted that it has then. */
export async function addColumns(table: Table, wanted: readonly string[]): Promise<string[]> {
  const known = (await knownOf(table)).columns;
  const room = Math.max(0, MAX_COLUMNS - known.size);
  const missing = wanted.filter((column) => !known.has(column)).slice(0, room);
  if (missing.length > 0) {
    await table.addColumns(missing.map((name) => ({ name, valueSql: 'cast(null as double)' })));
    forgetFacts(table);
  }
  return wanted.filter((column) => known.has(column) || missing.includes(column));
}

/** The conditions as the table's SQL; null where there are none. */
export async function whereIn(table: Table, conditions: readonly Condition[]): Promise<string | null> {
  return conditions.length === 0 ? null : whereOf(conditions, (await knownOf(table)).columns);
}

/** The chunks whose vectors are nearest. */
export async function nearest(
  table: Table,
  vector: Float32Array,
  { where, limit }: { where: string | null; limit: number },
): Promise<{ id: string; cosine: number }[]> {
  const query = table.query().nearestTo(vector).distanceType('cosine').limit(limit).select(['id', '_distance']);
  const { rows, indexed } = await knownOf(table);
  if (indexed.has('vector')) approximately(query, { rows, limit });
  const found = await (where === null ? query : query.where(where)).toArrow();
  const ids = found.getChild('id');
  const distances = found.getChild('_distance');
  return Array.from({ length: found.numRows }, (_, i) => ({
    id: String(ids?.get(i)),
    cosine: 1 - Number(distances?.get(i)),
  }));
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

/** The vectors of the documents' chunks, by the chunks' ids. */
export async function vectorsOf(table: Table, documentIds: readonly string[]): Promise<Map<string, Float32Array>> {
  const found = await table.query().where(oneOf('document_id', documentIds)).select(['id', 'vector']).toArrow();
  const [ids, vectors] = [found.getChild('id'), found.getChild('vector')];
  return new Map(Array.from({ length: found.numRows }, (_, i) => [String(ids?.get(i)), vectors?.get(i)?.toArray()]));
}

/** Of vectors of length 1: their cosine. */
function dot(a: Float32Array, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < EMBEDDING_DIMENSIONS; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
