import { and, asc, eq, sql as expression, getTableColumns, gt, inArray, lte } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { PageBounds } from '../../db/page.ts';
import { dataSources, knowledgeBases } from '../tables.ts';
import type { DocumentListQuery } from './schema.ts';
import { chunks, documents, droppedDocuments } from './tables.ts';

export type DocumentRow = typeof documents.$inferSelect;
export type ChunkRow = typeof chunks.$inferSelect;

/** The organization's document of that knowledge base, or null. */
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

/** The same, held with its data source until the transaction ends. Its knowledge base must be held already. */
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

/** The documents of a knowledge base, of one source or status or of all, oldest first. */
export function selectDocuments(
  sql: Sql,
  baseId: string,
  { data_source_id, status }: DocumentListQuery,
  bounds: PageBounds,
): Promise<DocumentRow[]> {
  return sql
    .select()
    .from(documents)
    .where(
      and(
        eq(documents.knowledgeBaseId, baseId),
        data_source_id === undefined ? undefined : eq(documents.dataSourceId, data_source_id),
        status === undefined ? undefined : eq(documents.status, status),
        bounds.after === null ? undefined : gt(documents.id, bounds.after),
      ),
    )
    .orderBy(asc(documents.id))
    .limit(bounds.limit + 1);
}

/** The chunks of a document in the order of its text: their ids were made in that order. */
export function selectDocumentChunks(sql: Sql, documentId: string, bounds: PageBounds): Promise<ChunkRow[]> {
  return sql
    .select()
    .from(chunks)
    .where(and(eq(chunks.documentId, documentId), bounds.after === null ? undefined : gt(chunks.id, bounds.after)))
    .orderBy(asc(chunks.id))
    .limit(bounds.limit + 1);
}

/** Removes the document with its chunks, which its source and its knowledge base no longer count. */
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

/** Says that the index is to forget a document. */
export async function insertDroppedDocument(sql: Sql, row: DocumentRow, at: Date): Promise<void> {
  await sql
    .insert(droppedDocuments)
    .values({ documentId: row.id, knowledgeBaseId: row.knowledgeBaseId, createdAt: at })
    .onConflictDoNothing();
}

/** Says that the index is to forget every document of a data source. */
export async function insertDroppedDocumentsOf(sql: Sql, dataSourceId: string, at: Date): Promise<void> {
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
 * Says, before new documents are written to the index, that it is to forget them at `due` unless they are rows by then. Nothing where the
 * knowledge base is gone.
 */
export async function insertUnwrittenDocuments(
  sql: Sql,
  baseId: string,
  ids: readonly string[],
  due: Date,
): Promise<void> {
  const [base] = await sql.select({ id: knowledgeBases.id }).from(knowledgeBases).where(eq(knowledgeBases.id, baseId));
  if (ids.length === 0 || base === undefined) return;
  const rows = ids.map((documentId) => ({ documentId, knowledgeBaseId: baseId, createdAt: due }));
  await sql
    .insert(droppedDocuments)
    .values(rows)
    .onConflictDoUpdate({ target: droppedDocuments.documentId, set: { createdAt: due } });
}

/** Up to `limit` documents of a knowledge base that its index is to forget now. */
export async function selectDroppedDocuments(sql: Sql, baseId: string, limit: number): Promise<string[]> {
  const rows = await sql
    .select({ id: droppedDocuments.documentId })
    .from(droppedDocuments)
    .where(and(eq(droppedDocuments.knowledgeBaseId, baseId), isDue()))
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Up to `limit` knowledge bases whose index is to forget documents now. */
export async function selectBasesOfDropped(sql: Sql, limit: number): Promise<string[]> {
  const dropped = sql.selectDistinct({ id: droppedDocuments.knowledgeBaseId }).from(droppedDocuments);
  return (await dropped.where(isDue()).limit(limit)).map(({ id }) => id);
}

/** Says that the index has nothing to forget of the documents: it has done so, or they are rows. */
export async function deleteDroppedDocuments(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.delete(droppedDocuments).where(inArray(droppedDocuments.documentId, [...ids]));
}

function isDue() {
  return lte(droppedDocuments.createdAt, expression`now()`);
}

function isDocument(organizationId: string, baseId: string, id: string) {
  return and(eq(documents.organizationId, organizationId), eq(documents.knowledgeBaseId, baseId), eq(documents.id, id));
}
