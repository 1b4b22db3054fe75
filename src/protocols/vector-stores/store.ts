import { sql as expression, type SQL } from 'drizzle-orm';
import type { ChunkSize } from '../../connectors/posted-store.ts';
import type { Sql } from '../../db/db.ts';
import type { PageBounds } from '../../db/page.ts';
import type { JobErrorCode } from '../../extraction/ingestion-error.ts';
import { isUploadId } from './ids.ts';
import type { FileStatus } from './schema.ts';

/** A file of a vector store: the documents of one item of a data source. */
export interface StoreFileRow {
  /** Id of the item's first document, which orders the files. */
  documentId: string;
  knowledgeBaseId: string;
  dataSourceId: string;
  sourceType: string;
  itemKey: string;
  createdAt: Date;
  bytes: number;
  status: FileStatus;
  error: { code: JobErrorCode; message: string } | null;
  /** Metadata that was posted with the file; null for items of other data sources. */
  attributes: Record<string, unknown> | null;
  /** Metadata of the first document. */
  metadata: Record<string, unknown>;
  chunkSize: ChunkSize | null;
}

/** Data source and posted version of the item of a document `f`. */
const ITEM_SOURCES = expression`
  join data_sources s on s.id = f.data_source_id
  left join posted_documents p on p.data_source_id = f.data_source_id and p.key = f.item_key`;

/**
 * Aggregates of the documents `d` of an item. Documents of a posted file have the fingerprint of the posted version
 * once that is ingested.
 */
const ITEM_STATE = expression`sum(d.bytes) as bytes,
  bool_or(d.status = 'completed') as has_text,
  bool_and(d.status <> 'processing' and d.fingerprint = coalesce(p.fingerprint, d.fingerprint)) as is_read`;

/** Status of an item. A version that no job is going to read has failed with the error of its data source. */
const FILE_STATUS = expression`case
  when item.is_read and item.has_text then 'completed'
  when item.is_cancelled then 'cancelled'
  when item.is_read then 'failed'
  when item.is_syncing then 'in_progress'
  else 'failed'
end`;

/** Items, each as its first document `f`, and their status. */
const ITEMS = expression`
  from documents f ${ITEM_SOURCES}
  cross join lateral (
    select item.*, p.is_cancelled, s.status = 'processing' as is_syncing
    from (
      select ${ITEM_STATE},
        (array_agg(d.error order by d.id) filter (where d.error is not null))[1] as error
      from documents d
      where d.data_source_id = f.data_source_id and d.item_key = f.item_key
    ) item
  ) item
  cross join lateral (select ${FILE_STATUS} as status) state
  where not exists (
    select from documents e
    where e.data_source_id = f.data_source_id and e.item_key = f.item_key and e.id < f.id
  )`;

const COLUMNS = expression`
  select f.id as "documentId", f.knowledge_base_id as "knowledgeBaseId", s.id as "dataSourceId", s.type as "sourceType",
    f.item_key as "itemKey", f.created_at as "createdAt", item.bytes, state.status,
    coalesce(item.error, s.error) as error, p.metadata as attributes, f.metadata, p.chunk_size as "chunkSize"`;

/** Which files of a knowledge base a list has. */
export interface FileFilter {
  status?: FileStatus | undefined;
  /** Further condition on `f`, the item's first document. */
  where?: SQL;
}

/** Selects a page of the files of a knowledge base, in the order of their first documents. */
export function selectStoreFiles(
  sql: Sql,
  baseId: string,
  { status, where }: FileFilter,
  { after, limit, order }: PageBounds & { order: 'asc' | 'desc' },
): Promise<StoreFileRow[]> {
  const isDescending = order === 'desc';
  const conditions = [
    expression`${ITEMS} and f.knowledge_base_id = ${baseId}`,
    ...(where === undefined ? [] : [where]),
    ...(status === undefined ? [] : [expression`state.status = ${status}`]),
    ...(after === null ? [] : [isDescending ? expression`f.id < ${after}` : expression`f.id > ${after}`]),
  ];
  const direction = isDescending ? expression`desc` : expression`asc`;
  return selectFiles(
    sql,
    expression`${expression.join(conditions, expression` and `)} order by f.id ${direction} limit ${limit + 1}`,
  );
}

/** Selects a file by its id, or null. A posted file wins over the same file of another data source. */
export async function selectStoreFile(sql: Sql, baseId: string, fileId: string): Promise<StoreFileRow | null> {
  const isFile = isUploadId(fileId) ? hasFileId(fileId) : expression`f.id = ${fileId}`;
  const query = expression`${ITEMS} and f.knowledge_base_id = ${baseId} and ${isFile} order by p.key is null, f.id limit 1`;
  return (await selectFiles(sql, query))[0] ?? null;
}

function hasFileId(id: string): SQL {
  return expression`f.item_key = ${id} and s.type in ('api', 'file_upload')`;
}

/** Fields of a document's file in search results. */
export type FileOfDocument = Pick<StoreFileRow, 'documentId' | 'itemKey' | 'sourceType' | 'attributes' | 'metadata'>;

/** Selects the files to which documents belong, by document id. */
export async function selectFilesOfDocuments(
  sql: Sql,
  baseId: string,
  documentIds: readonly string[],
): Promise<Map<string, FileOfDocument>> {
  const rows = await execute<FileOfDocument>(
    sql,
    expression`
    select d.id as "documentId", d.item_key as "itemKey", d.source_type as "sourceType", p.metadata as attributes, d.metadata
    from documents d
    left join posted_documents p on p.data_source_id = d.data_source_id and p.key = d.item_key
    where d.knowledge_base_id = ${baseId} and d.id in (select json_array_elements_text(${JSON.stringify(documentIds)}))`,
  );
  return new Map(rows.map((row) => [row.documentId, row]));
}

/** Drivers return sums and counts as text. */
type StoredFile = Omit<StoreFileRow, 'bytes' | 'createdAt'> & { bytes: string; createdAt: string | Date };

async function execute<T>(sql: Sql, query: SQL): Promise<T[]> {
  return ((await sql.execute(query)) as { rows: T[] }).rows;
}

async function selectFiles(sql: Sql, from: SQL): Promise<StoreFileRow[]> {
  const rows = await execute<StoredFile>(sql, expression`${COLUMNS} ${from}`);
  return rows.map((row) => ({
    ...row,
    bytes: Number(row.bytes),
    createdAt: new Date(row.createdAt),
  }));
}

/** Files of a store with one status. */
export interface StatusCount {
  status: FileStatus;
  files: number;
  bytes: number;
}

/** Counts the files of knowledge bases by status, by the id of the knowledge base. */
export async function countStoreFiles(
  sql: Sql,
  baseIds: readonly string[],
  where: SQL = expression`true`,
): Promise<Map<string, StatusCount[]>> {
  // The inner queries read `documents_by_state` and `posted_documents_by_state` in their order, and no rows of the
  // tables: a merge join without a sort. Items are counted by their state first, so statuses are computed a few times.
  const rows = await execute<StatusCount & { base: string }>(
    sql,
    expression`
    select s.knowledge_base_id as base, state.status, sum(item.files) as files, sum(item.bytes) as bytes
    from data_sources s
    cross join lateral (
      select has_text, is_read, is_cancelled, s.status = 'processing' as is_syncing, count(*) as files, sum(bytes) as bytes
      from (
        select ${ITEM_STATE}, bool_or(p.is_cancelled) as is_cancelled
        from documents f
        left join posted_documents p on p.data_source_id = f.data_source_id and p.key = f.item_key
        cross join lateral (select f.bytes, f.status, f.fingerprint) d
        where f.data_source_id = s.id and ${where}
        group by f.item_key
      ) items
      group by has_text, is_read, is_cancelled
    ) item
    cross join lateral (select ${FILE_STATUS} as status) state
    where s.knowledge_base_id in (select json_array_elements_text(${JSON.stringify(baseIds)}))
    group by s.knowledge_base_id, state.status`,
  );
  const counts = rows.map((row) => ({
    ...row,
    files: Number(row.files),
    bytes: Number(row.bytes),
  }));
  return Map.groupBy(counts, ({ base }) => base);
}

/** A chunk of a file, in text order. */
export interface FileChunkRow {
  id: string;
  documentId: string;
  text: string;
  startIndex: number;
  endIndex: number;
}

/** Selects up to `limit` chunks of a file, document by document, from the chunk `from` on. */
export async function selectFileChunks(
  sql: Sql,
  { dataSourceId, itemKey }: Pick<StoreFileRow, 'dataSourceId' | 'itemKey'>,
  { from, limit }: { from: string | null; limit: number },
): Promise<FileChunkRow[]> {
  const isFrom =
    from === null
      ? expression`true`
      : expression`(c.document_id, c.id) >= (select o.document_id, o.id from chunks o where o.id = ${from})`;
  const rows = await execute<FileChunkRow>(
    sql,
    expression`
    select c.id, c.document_id as "documentId", c.text, c.start_index as "startIndex", c.end_index as "endIndex"
    from chunks c join documents d on d.id = c.document_id
    where d.data_source_id = ${dataSourceId} and d.item_key = ${itemKey} and ${isFrom}
    order by c.document_id, c.id limit ${limit}`,
  );
  return rows;
}
