import { and, asc, eq, sql as expression, getTableColumns, gt, inArray, lt, lte } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { nameContains, type PageBounds, pageOrder } from '../../db/page.ts';
import { dataSources, knowledgeBases } from '../tables.ts';
import type { ChunkListQuery, DocumentListQuery } from './schema.ts';
import { chunks, documents, droppedDocuments } from './tables.ts';

/** A row of `documents`. */
export type DocumentRow = typeof documents.$inferSelect;
/** A row of `chunks`. */
export type ChunkRow = typeof chunks.$inferSelect;

/** Documents per statement: each has 30 parameters, and PostgreSQL allows 65,535. */
const ROWS_PER_STATEMENT = 500;

/** Returns the organization's document in that knowledge base, or null. */
export async function selectDocument(
  sql: Sql,
  organizationId: string,
  { baseId, id }: { baseId: string; id: string },
): Promise<DocumentRow | null> {
  const [row] = await sql
    .select()
    .from(documents)
    .where(isDocument(organizationId, baseId, id));
  return row ?? null;
}

/** Like `selectDocument`, with a row lock on the document and its data source. Lock the knowledge base first. */
export async function lockDocument(
  sql: Sql,
  organizationId: string,
  { baseId, id }: { baseId: string; id: string },
): Promise<DocumentRow | null> {
  const [row] = await sql
    .select(getTableColumns(documents))
    .from(documents)
    .innerJoin(dataSources, eq(dataSources.id, documents.dataSourceId))
    .where(isDocument(organizationId, baseId, id))
    .for('update');
  return row ?? null;
}

/** Like `lockDocument`, for the documents that were posted with a key. */
export function lockDocumentsOfKey(sql: Sql, baseId: string, key: string): Promise<DocumentRow[]> {
  return sql
    .select(getTableColumns(documents))
    .from(documents)
    .innerJoin(dataSources, eq(dataSources.id, documents.dataSourceId))
    .where(and(eq(documents.knowledgeBaseId, baseId), hasKey(sql, baseId, key)))
    .orderBy(asc(documents.id))
    .for('update');
}

/** Selects documents of a knowledge base, optionally by data source, status, key or name, in id (creation) order. */
export function listDocumentRows(
  sql: Sql,
  baseId: string,
  { data_source_id, status, key, search, order }: DocumentListQuery,
  bounds: PageBounds,
): Promise<DocumentRow[]> {
  const { isAfter, orderBy } = pageOrder(documents.id, bounds, order);
  return sql
    .select()
    .from(documents)
    .where(
      and(
        eq(documents.knowledgeBaseId, baseId),
        data_source_id === undefined ? undefined : eq(documents.dataSourceId, data_source_id),
        status === undefined ? undefined : eq(documents.status, status),
        key === undefined ? undefined : hasKey(sql, baseId, key),
        nameContains(documents.name, search),
        isAfter,
      ),
    )
    .orderBy(orderBy)
    .limit(bounds.limit + 1);
}

/** Selects the chunks of a document, optionally those in a range, in text order, which is the order of their ids. */
export function selectDocumentChunks(
  sql: Sql,
  documentId: string,
  bounds: PageBounds,
  { start, end }: Pick<ChunkListQuery, 'start' | 'end'> = {},
): Promise<ChunkRow[]> {
  const isInRange = and(
    start === undefined ? undefined : gt(chunks.endIndex, start),
    end === undefined ? undefined : lt(chunks.startIndex, end),
  );
  const isAfter = bounds.after === null ? undefined : gt(chunks.id, bounds.after);
  return sql
    .select()
    .from(chunks)
    .where(and(eq(chunks.documentId, documentId), isAfter, isInRange))
    .orderBy(asc(chunks.id))
    .limit(bounds.limit + 1);
}

/** Deletes a document with its chunks and updates the counts of its data source and knowledge base. */
export async function deleteDocumentRow(sql: Sql, row: DocumentRow): Promise<void> {
  const counted = row.status === 'completed' ? 1 : 0;
  await sql.delete(documents).where(eq(documents.id, row.id));
  await sql
    .update(dataSources)
    .set({ documentCount: expression`${dataSources.documentCount} - ${counted}` })
    .where(eq(dataSources.id, row.dataSourceId));
  await sql
    .update(knowledgeBases)
    .set({
      documentCount: expression`${knowledgeBases.documentCount} - ${counted}`,
      chunkCount: expression`${knowledgeBases.chunkCount} - ${row.chunkCount}`,
    })
    .where(eq(knowledgeBases.id, row.knowledgeBaseId));
}

/** Makes the stored documents of an item differ from its present version. Returns false if it has none. */
export async function forgetItemVersion(sql: Sql, sourceId: string, itemKey: string): Promise<boolean> {
  const rows = await sql
    .update(documents)
    .set({ fingerprint: '', extractionHash: null })
    .where(and(eq(documents.dataSourceId, sourceId), eq(documents.itemKey, itemKey)))
    .returning({ id: documents.id });
  return rows.length > 0;
}

/** Inserts documents. */
export async function insertDocuments(sql: Sql, rows: readonly DocumentRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    await sql.insert(documents).values(rows.slice(from, from + ROWS_PER_STATEMENT));
  }
}

/** Inserts a tombstone for a document. */
export async function insertTombstone(sql: Sql, row: DocumentRow, at: Date): Promise<void> {
  await sql
    .insert(droppedDocuments)
    .values({ documentId: row.id, knowledgeBaseId: row.knowledgeBaseId, createdAt: at })
    .onConflictDoNothing();
}

/** Inserts tombstones for all documents of a data source. */
export async function insertTombstonesOfSource(sql: Sql, dataSourceId: string, at: Date): Promise<void> {
  await sql
    .insert(droppedDocuments)
    .select(
      sql
        .select({
          documentId: documents.id,
          knowledgeBaseId: documents.knowledgeBaseId,
          createdAt: expression<Date>`${at.toISOString()}::timestamptz`.as('created_at'),
        })
        .from(documents)
        .where(eq(documents.dataSourceId, dataSourceId)),
    )
    .onConflictDoNothing();
}

/**
 * Inserts tombstones that take effect at `due` for new documents, before they are written to the index. Remove them
 * with the commit of the documents' rows. Does nothing when the knowledge base no longer exists.
 */
export async function insertFutureTombstones(
  sql: Sql,
  baseId: string,
  ids: readonly string[],
  due: Date,
): Promise<void> {
  const [base] = await sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, baseId));
  if (ids.length === 0 || base === undefined) return;
  const tombstones = ids.map((documentId) => ({ documentId, knowledgeBaseId: baseId, createdAt: due }));
  await sql
    .insert(droppedDocuments)
    .values(tombstones)
    .onConflictDoUpdate({ target: droppedDocuments.documentId, set: { createdAt: due } });
}

/** Selects up to `limit` document ids with tombstones in effect. */
export async function selectTombstones(sql: Sql, baseId: string, limit: number): Promise<string[]> {
  const rows = await sql
    .select({ id: droppedDocuments.documentId })
    .from(droppedDocuments)
    .where(and(eq(droppedDocuments.knowledgeBaseId, baseId), isDue()))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Selects up to `limit` ids of knowledge bases with tombstones in effect. */
export async function selectBasesWithTombstones(sql: Sql, limit: number): Promise<string[]> {
  const bases = sql.selectDistinct({ id: droppedDocuments.knowledgeBaseId }).from(droppedDocuments);
  return (await bases.where(isDue()).limit(limit)).map(({ id }) => id);
}

/** Deletes tombstones: the index entries were removed, or the documents' rows were committed. */
export async function deleteTombstones(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.delete(droppedDocuments).where(inArray(droppedDocuments.documentId, [...ids]));
}

function isDue() {
  return lte(droppedDocuments.createdAt, expression`now()`);
}

function isDocument(organizationId: string, baseId: string, id: string) {
  return and(eq(documents.organizationId, organizationId), eq(documents.knowledgeBaseId, baseId), eq(documents.id, id));
}

/** Condition that a document was posted with a key. */
function hasKey(sql: Sql, baseId: string, key: string) {
  const isApi = and(eq(dataSources.knowledgeBaseId, baseId), eq(dataSources.type, 'api'));
  const sources = sql.select({ id: dataSources.id }).from(dataSources).where(isApi);
  return and(inArray(documents.dataSourceId, sources), eq(documents.itemKey, key));
}
