import { Index, MatchQuery, type Table, type VectorQuery } from '@lancedb/lancedb';
import { EMBEDDING_DIMENSIONS } from '../lib/embedding-dimensions.ts';
import { FIRST_VECTOR_COLUMN, vectorColumns } from './chunk-rows.ts';
import { type Condition, columnIn, toSql } from './filter.ts';
import type { TableState } from './maintenance.ts';

/** A search hit. */
export interface ChunkHit {
  id: string;
  /** Cosine similarity, -1 to 1; null without a query vector. */
  cosine: number | null;
  /** BM25 score, from 0; null without a query text. */
  bm25: number | null;
  /** Whether `bm25` is only an upper bound. */
  isBound: boolean;
}

/**
 * Maximum columns of a table: 7 of every table, vectors of another model, and numbers and dates of 256 filter keys and
 * of chunk fields.
 */
const MAX_COLUMNS = 528;
/** Cache TTL of table facts, which other processes may change. Own writes invalidate the cache. */
const FACTS_MS = 1_000;

/** Average vectors per partition of the IVF index, by which LanceDB chooses the number of partitions. */
const VECTORS_PER_PARTITION = 4096;
/**
 * Probed partitions of the IVF index: a share of all, and a minimum. With 20 of 24 partitions recall@10 was .998 over
 * 100,000 chunks, with 10 it was .947 (docs/develop/decisions/0012-search.md).
 */
const PROBED_SHARE = 0.8;
const MIN_PROBES = 20;
/** Vectors that are compared exactly: a multiple of `limit`, and a minimum, which keeps recall for small limits. */
const REFINE_FACTOR = 3;
const MIN_REFINED = 300;

/** A query vector and the column of the vectors that it is compared with. */
export interface QueryVector {
  /** 1024 floats, L2-normalised. */
  vector: Float32Array;
  column: string;
}

/** Cached facts about a table. */
export interface TableFacts {
  rows: number;
  columns: ReadonlySet<string>;
  /** Columns that have an index. */
  indexed: ReadonlySet<string>;
}

const factsCache = new WeakMap<Table, { until: number; facts: Promise<TableFacts> }>();

/** Returns the facts about a table, cached for a second. */
export function tableFacts(table: Table): Promise<TableFacts> {
  const cached = factsCache.get(table);
  if (cached !== undefined && cached.until > performance.now()) return cached.facts;
  const facts = readFacts(table);
  factsCache.set(table, { until: performance.now() + FACTS_MS, facts });
  facts.catch(() => factsCache.delete(table));
  return facts;
}

/** Invalidates the cached facts after a write. */
export function invalidateFacts(table: Table): void {
  factsCache.delete(table);
}

async function readFacts(table: Table): Promise<TableFacts> {
  const [rows, schema, indices] = await Promise.all([table.countRows(), table.schema(), table.listIndices()]);
  return {
    rows,
    columns: new Set(schema.fields.map(({ name }) => name)),
    indexed: new Set(indices.flatMap(({ columns }) => columns)),
  };
}

/** Reads the state that determines the maintenance of a table. */
export async function readTableState(table: Table, deletedSinceBuild: number): Promise<TableState> {
  const [rows, { indexed }, stats, terms, vectors] = await Promise.all([
    table.countRows(),
    tableFacts(table),
    table.stats(),
    table.indexStats('terms_idx'),
    oldestVectors(table).then((column) => table.indexStats(`${column}_idx`)),
  ]);
  return {
    rows,
    deletedSinceBuild,
    unindexedTerms: terms?.numUnindexedRows ?? null,
    unindexedVectors: vectors?.numUnindexedRows ?? null,
    vectorDeltas: vectors?.numIndices ?? 0,
    hasLookups: indexed.has('labels'),
    fragments: stats.fragmentStats.numFragments,
  };
}

/** The vector column that searches use while the vectors of another model are written beside it. */
export async function oldestVectors(table: Table): Promise<string> {
  return vectorColumns(await table.schema())[0] ?? FIRST_VECTOR_COLUMN;
}

/** Builds the keyword index from scratch. `tokenizeText` has already tokenized the texts. */
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

/** Builds the approximate index (IVF_RQ) of a vector column. */
export async function buildVectors(table: Table, column: string): Promise<void> {
  await table.createIndex(column, { config: Index.ivfRq({ distanceType: 'cosine' }), replace: true });
}

/** Adds a vector column if it is missing. */
export async function addVectors(table: Table, column: string): Promise<void> {
  if ((await tableFacts(table)).columns.has(column)) return;
  const valueSql = `arrow_cast(null, 'FixedSizeList(${EMBEDDING_DIMENSIONS}, Float32)')`;
  await table.addColumns([{ name: column, valueSql }]);
  invalidateFacts(table);
}

/** Drops the vector columns except one. */
export async function dropOtherVectors(table: Table, kept: string): Promise<void> {
  const columns = vectorColumns(await table.schema());
  const others = columns.filter((column) => column !== kept);
  if (others.length > 0 && others.length < columns.length) await table.dropColumns(others);
  invalidateFacts(table);
}

/** Builds the scalar indexes of id, document_id and labels. */
export async function buildLookups(table: Table): Promise<void> {
  await table.createIndex('id', { config: Index.btree(), replace: true });
  await table.createIndex('document_id', { config: Index.btree(), replace: true });
  await table.createIndex('labels', { config: Index.labelList(), replace: true });
}

/** Sets the probed partitions and the refine factor of a vector query, by the number of rows and hits. */
export function tuneVectorQuery(query: VectorQuery, { rows, limit }: { rows: number; limit: number }): VectorQuery {
  const probes = Math.max(MIN_PROBES, Math.ceil((rows / VECTORS_PER_PARTITION) * PROBED_SHARE));
  return query.nprobes(probes).refineFactor(Math.max(REFINE_FACTOR, Math.ceil(MIN_REFINED / limit)));
}

/** Adds missing numeric columns up to the maximum. Returns the requested columns that exist then. */
export async function addColumns(table: Table, requested: readonly string[]): Promise<string[]> {
  const existing = (await tableFacts(table)).columns;
  const room = Math.max(0, MAX_COLUMNS - existing.size);
  const missing = requested.filter((column) => !existing.has(column)).slice(0, room);
  if (missing.length > 0) {
    await table.addColumns(missing.map((name) => ({ name, valueSql: 'cast(null as double)' })));
    invalidateFacts(table);
  }
  return requested.filter((column) => existing.has(column) || missing.includes(column));
}

/** Converts conditions to SQL for the table; null without conditions. */
export async function whereClause(table: Table, conditions: readonly Condition[]): Promise<string | null> {
  return conditions.length === 0 ? null : toSql(conditions, (await tableFacts(table)).columns);
}

/** Returns the chunks with the nearest vectors. */
export async function searchVectors(
  table: Table,
  { vector, column }: QueryVector,
  { where, limit }: { where: string | null; limit: number },
): Promise<{ id: string; cosine: number }[]> {
  const nearest = table.query().nearestTo(vector).column(column);
  const query = nearest.distanceType('cosine').limit(limit).select(['id', '_distance']);
  const { rows, indexed } = await tableFacts(table);
  if (indexed.has(column)) tuneVectorQuery(query, { rows, limit });
  const result = await (where === null ? query : query.where(where)).toArrow();
  const ids = result.getChild('id');
  const distances = result.getChild('_distance');
  return Array.from({ length: result.numRows }, (_, i) => ({
    id: String(ids?.get(i)),
    cosine: 1 - Number(distances?.get(i)),
  }));
}

/**
 * Returns the chunks that contain any of the terms, best first. With a query vector, also their cosine similarity,
 * which saves a second search.
 */
export async function searchTerms(
  table: Table,
  terms: readonly string[],
  { where, limit, near }: { where: string | null; limit: number; near: QueryVector | null },
): Promise<{ id: string; cosine: number | null; bm25: number }[]> {
  const query = table
    .query()
    .fullTextSearch(new MatchQuery(terms.join(' '), 'terms'))
    .limit(limit)
    .select(near === null ? ['id', '_score'] : ['id', '_score', near.column]);
  const result = await (where === null ? query : query.where(where)).toArrow();
  const ids = result.getChild('id');
  const scores = result.getChild('_score');
  const vectors = near === null ? null : result.getChild(near.column);
  return Array.from({ length: result.numRows }, (_, i) => ({
    id: String(ids?.get(i)),
    bm25: Number(scores?.get(i)),
    cosine: near === null ? null : dot(near.vector, vectors?.get(i)?.toArray() ?? []),
  }));
}

/** Returns the vectors of the documents' chunks in a column by chunk id; null where it has none. */
export async function selectVectors(
  table: Table,
  documentIds: readonly string[],
  column: string,
): Promise<Map<string, Float32Array | null>> {
  const hasColumn = (await tableFacts(table)).columns.has(column);
  const selected = hasColumn ? ['id', column] : ['id'];
  const result = await table.query().where(columnIn('document_id', documentIds)).select(selected).toArrow();
  const [ids, vectors] = [result.getChild('id'), result.getChild(column)];
  return new Map(
    Array.from({ length: result.numRows }, (_, i) => [String(ids?.get(i)), vectors?.get(i)?.toArray() ?? null]),
  );
}

/** Returns the ids of the documents' chunks. */
export async function selectIds(table: Table, documentIds: readonly string[]): Promise<string[]> {
  const result = await table.query().where(columnIn('document_id', documentIds)).select(['id']).toArrow();
  const ids = result.getChild('id');
  return Array.from({ length: result.numRows }, (_, i) => String(ids?.get(i)));
}

/** Dot product, which is the cosine of L2-normalised vectors. */
function dot(a: Float32Array, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < EMBEDDING_DIMENSIONS; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
