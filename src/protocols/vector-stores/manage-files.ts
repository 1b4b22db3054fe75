import type { Deps } from '../../deps.ts';
import { invalidValue, notFound } from '../../errors.ts';
import { deleteKey } from '../../knowledge-bases/documents/delete-document.ts';
import { type JoinedText, joinChunk } from '../../knowledge-bases/documents/join-chunks.ts';
import { selectPosted } from '../../knowledge-bases/documents/posted-store.ts';
import { findAndLockKnowledgeBase } from '../../knowledge-bases/find-knowledge-base.ts';
import { storeContents } from '../../knowledge-bases/ingestion/post-document.ts';
import type { KnowledgeBaseRow } from '../../knowledge-bases/store.ts';
import type { Call } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { attachFiles, requireFileScope } from './attach-files.ts';
import { findStore, isStoreFileId } from './ids.ts';
import { readStorePage } from './paging.ts';
import type { AddFile, FileContent, StoreFileListQuery, UpdateFile, VectorStoreFile } from './schema.ts';
import { type FileFilter, type StoreFileRow, selectFileChunks, selectStoreFile, selectStoreFiles } from './store.ts';
import { toFileId, viewStoreFile } from './view.ts';

/** Path parameters of a file of a store. */
export interface FilePath {
  vector_store_id: string;
  file_id: string;
}

type FileDeps = Pick<Deps, 'db' | 'jobs' | 'now'>;

/** Chunks of one page of a file's content. */
const CHUNKS_PER_PAGE = 1000;

/** Adds an uploaded file to a store. Throws 404 `vector_store_not_found` and `file_not_found`, and 400. */
export async function addFile(deps: FileDeps, call: Call, storeId: string, body: AddFile): Promise<VectorStoreFile> {
  requireFileScope(call, 'file_id');
  const { organizationId } = call.caller;
  const { id } = await findStore(deps, organizationId, storeId);
  await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, id);
    const file = { ...body, path: 'file_id', strategyPath: 'chunking_strategy' };
    await attachFiles(sql, deps, { call, base }, [file]);
  });
  return showFile(deps, call, { vector_store_id: storeId, file_id: body.file_id });
}

/** Returns a file of a store. Throws 404 `vector_store_not_found` and `file_not_found`. */
export async function showFile(deps: Pick<Deps, 'db'>, call: Call, path: FilePath): Promise<VectorStoreFile> {
  const { base, file } = await findStoreFile(deps, call, path);
  return viewStoreFile(file, base);
}

/** Finds a file of a store. Throws 404 `vector_store_not_found` and `file_not_found`. */
async function findStoreFile(
  deps: Pick<Deps, 'db'>,
  call: Call,
  { vector_store_id, file_id }: FilePath,
): Promise<{ base: KnowledgeBaseRow; file: StoreFileRow }> {
  const base = await findStore(deps, call.caller.organizationId, vector_store_id);
  const file = isStoreFileId(file_id) ? await selectStoreFile(deps.db.sql, base.id, file_id) : null;
  if (file === null) throw notFound('file', file_id, 'file_id');
  return { base, file };
}

/** Lists the files of a store or of a batch. Throws 404 `vector_store_not_found`. */
export async function listStoreFiles(
  deps: Pick<Deps, 'db'>,
  base: KnowledgeBaseRow,
  { filter: status, ...query }: StoreFileListQuery,
  where?: NonNullable<FileFilter['where']>,
) {
  const { sql } = deps.db;
  // A client may remove the files of a page before it asks for the next one: then the first remaining files follow.
  const toCursor = async (id: string, param: string) => {
    if (!isStoreFileId(id)) throw invalidValue(param, 'must be an id from another page of this list');
    return (await selectStoreFile(sql, base.id, id))?.documentId ?? null;
  };
  const filter = { status, ...(where !== undefined && { where }) };
  return readStorePage(
    query,
    toCursor,
    (bounds) => selectStoreFiles(sql, base.id, filter, bounds),
    (rows) => rows.map((row) => viewStoreFile(row, base)),
  );
}

/**
 * Replaces the attributes of a file. Searches filter by them when the job that this queues has ended. Throws 404
 * `vector_store_not_found` and `file_not_found`, and 400 for a file of another data source.
 */
export async function updateFile(
  deps: FileDeps,
  call: Call,
  path: FilePath,
  { attributes }: UpdateFile,
): Promise<VectorStoreFile> {
  requireFileScope(call, 'file_id');
  const { base: found, file } = await findStoreFile(deps, call, path);
  requirePosted(file);
  await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, call.caller.organizationId, found.id);
    const posted = await selectPosted(sql, file.dataSourceId, file.itemKey);
    if (posted === null) throw notFound('file', path.file_id, 'file_id');
    const { name: title, ...content } = posted;
    const changed = { ...content, title, metadata: attributes ?? {}, param: 'file_id' };
    await storeContents(sql, deps, { caller: call.caller, base }, [changed]);
  });
  return showFile(deps, call, path);
}

/** Removes a file from a store; the upload stays. Throws as `updateFile` does. */
export async function removeFile(deps: Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>, call: Call, path: FilePath) {
  const { base, file } = await findStoreFile(deps, call, path);
  requirePosted(file);
  await deleteKey(deps, call.caller.organizationId, { kb_id: base.id, key: file.itemKey });
  return { id: toFileId(file), object: 'vector_store.file.deleted' as const, deleted: true as const };
}

/** A sync of another data source would bring the file back. */
function requirePosted({ sourceType, dataSourceId }: StoreFileRow): void {
  if (sourceType === 'api') return;
  throw invalidValue('file_id', `is a document of the data source '${dataSourceId}'; change it there`);
}

/** Returns the extracted text of a file, by pages of its chunks. Throws as `showFile` does, and 400 for `page`. */
export async function readFileContent(
  deps: Pick<Deps, 'db'>,
  call: Call,
  path: FilePath,
  page: string | null,
): Promise<FileContent> {
  const { file } = await findStoreFile(deps, call, path);
  if (page !== null && !isId('chunk', page)) throw invalidValue('page', 'must be the `next_page` of a page before');
  const rows = await selectFileChunks(deps.db.sql, file, { from: page, limit: CHUNKS_PER_PAGE + 1 });
  const hasMore = rows.length > CHUNKS_PER_PAGE;
  const texts = new Map<string, JoinedText>();
  // The first chunk of a later page was the last one of the page before.
  for (const [index, chunk] of rows.slice(0, CHUNKS_PER_PAGE).entries()) {
    const isRepeated = index === 0 && page !== null;
    const text = joinChunk(texts.get(chunk.documentId) ?? { text: '', end: 0 }, chunk);
    texts.set(chunk.documentId, isRepeated ? { ...text, text: '' } : text);
  }
  return {
    object: 'vector_store.file_content.page',
    data: [...texts.values()].map(({ text }) => ({ type: 'text' as const, text })),
    has_more: hasMore,
    next_page: hasMore ? (rows[CHUNKS_PER_PAGE - 1]?.id ?? null) : null,
  };
}
