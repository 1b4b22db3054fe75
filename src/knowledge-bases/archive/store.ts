import { and, asc, eq, sql as expression, gt, inArray, isNotNull, ne } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import type { DataSourceRow } from '../data-sources/store.ts';
import type { ChunkRow, DocumentRow } from '../documents/store.ts';
import { documents, postedDocuments } from '../documents/tables.ts';
import { selectChunksOfDocuments } from '../ingestion/re-embedding-store.ts';
import { takeWrite } from '../ingestion/write-documents.ts';
import { dataSources } from '../tables.ts';
import { MAX_DOCUMENTS } from './format.ts';

/** Rows of `posted_documents` per page: each may have a text of 64 MiB. */
const POSTS_PER_PAGE = 1;
const FILES_PER_PAGE = 500;

/** A row of `posted_documents`. */
export type PostedRow = typeof postedDocuments.$inferSelect;

/** Selects the data sources of a knowledge base, in the order of their ids. */
export function selectSourcesOfBase(sql: Sql, baseId: string): Promise<DataSourceRow[]> {
  return sql.select().from(dataSources).where(eq(dataSources.knowledgeBaseId, baseId)).orderBy(asc(dataSources.id));
}

/** Selects the next documents of a data source that fit into one part, with their chunks of the same version. */
export function selectDocumentsWithChunks(
  sql: Sql,
  sourceId: string,
  after: string,
): Promise<{ document: DocumentRow; chunks: ChunkRow[] }[]> {
  return sql.transaction(
    async (snapshot) => {
      const isNext = and(
        eq(documents.dataSourceId, sourceId),
        gt(documents.id, after),
        ne(documents.status, 'processing'),
      );
      const rows = await snapshot
        .select()
        .from(documents)
        .where(isNext)
        .orderBy(asc(documents.id))
        .limit(MAX_DOCUMENTS);
      const taken = takeWrite(rows);
      const ids = taken.map(({ id }) => id);
      const chunks = ids.length === 0 ? [] : await selectChunksOfDocuments(snapshot, ids);
      const byDocument = Map.groupBy(chunks, ({ documentId }) => documentId);
      return taken.map((document) => ({ document, chunks: byDocument.get(document.id) ?? [] }));
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

/** Yields the ids of the files of posted documents, in the order of their keys. */
export async function* listPostedFiles(sql: Sql, sourceId: string): AsyncGenerator<string> {
  const { key, fileId } = postedDocuments;
  for (let after = ''; ; ) {
    const isNext = and(eq(postedDocuments.dataSourceId, sourceId), gt(key, after), isNotNull(fileId));
    const rows = await sql
      .select({ key, fileId })
      .from(postedDocuments)
      .where(isNext)
      .orderBy(asc(key))
      .limit(FILES_PER_PAGE);
    for (const row of rows) if (row.fileId !== null) yield row.fileId;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.key;
  }
}

/** Yields the posted documents, in the order of their keys. */
export async function* listPosts(sql: Sql, sourceId: string): AsyncGenerator<PostedRow> {
  for (let after = ''; ; ) {
    const isNext = and(eq(postedDocuments.dataSourceId, sourceId), gt(postedDocuments.key, after));
    const rows = await sql
      .select()
      .from(postedDocuments)
      .where(isNext)
      .orderBy(asc(postedDocuments.key))
      .limit(POSTS_PER_PAGE);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.key;
  }
}

/** Selects the documents of a data source that an earlier run has imported, as JSON of item key and part. */
export async function selectImported(sql: Sql, sourceId: string, itemKeys: readonly string[]): Promise<Set<string>> {
  const rows = await sql
    .select({ itemKey: documents.itemKey, part: documents.part })
    .from(documents)
    .where(and(eq(documents.dataSourceId, sourceId), inArray(documents.itemKey, [...itemKeys])));
  return new Set(rows.map(({ itemKey, part }) => JSON.stringify([itemKey, part])));
}

/** Appends the id of an imported file to the config of its data source. */
export async function appendFileId(sql: Sql, sourceId: string, fileId: string): Promise<void> {
  const ids = expression`coalesce(${dataSources.config} -> 'file_ids', '[]'::jsonb) || to_jsonb(${fileId}::text)`;
  await sql
    .update(dataSources)
    .set({ config: expression`jsonb_set(${dataSources.config}, '{file_ids}', ${ids})` })
    .where(eq(dataSources.id, sourceId));
}

/** Ids of the files that were imported into a data source, in the order of the archive. */
export async function selectFileIds(sql: Sql, sourceId: string): Promise<string[]> {
  const [row] = await sql.select({ config: dataSources.config }).from(dataSources).where(eq(dataSources.id, sourceId));
  return (row?.config['file_ids'] as string[] | undefined) ?? [];
}

/** Removes the ids of imported files from the config of a data source that has none of its own. */
export async function clearFileIds(sql: Sql, sourceId: string): Promise<void> {
  await sql
    .update(dataSources)
    .set({ config: expression`${dataSources.config} - 'file_ids'` })
    .where(eq(dataSources.id, sourceId));
}
