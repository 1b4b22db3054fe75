import type { Sql } from '../../db/db.ts';
import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { findAndLockKnowledgeBase } from '../../knowledge-bases/find-knowledge-base.ts';
import type { KnowledgeBaseRow } from '../../knowledge-bases/store.ts';
import { toVectorStoreId } from '../../knowledge-bases/vector-store-id.ts';
import type { Call } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import { attachFiles, type FileToAttach, requireFileScope } from './attach-files.ts';
import {
  cancelBatchFiles,
  type FileBatchRow,
  insertFileBatch,
  isInBatch,
  selectFileBatch,
  updateCancelled,
} from './batch-store.ts';
import { findStore } from './ids.ts';
import { listStoreFiles } from './manage-files.ts';
import type { CreateFileBatch, FileBatch, StoreFileListQuery } from './schema.ts';
import { countStoreFiles } from './store.ts';
import { viewCounts } from './view.ts';

/** Path parameters of a file batch. */
export interface FileBatchPath {
  vector_store_id: string;
  file_batch_id: string;
}

/**
 * Adds files to a store as one batch, all or none. Throws 404 `vector_store_not_found` and `file_not_found`, and 400
 * naming the field.
 */
export async function createFileBatch(
  deps: Pick<Deps, 'db' | 'jobs' | 'now'>,
  call: Call,
  storeId: string,
  body: CreateFileBatch,
): Promise<FileBatch> {
  const files = parseFiles(body);
  requireFileScope(call, body.files === undefined ? 'file_ids' : 'files');
  const { organizationId } = call.caller;
  const { id: baseId } = await findStore(deps, organizationId, storeId);
  const row: FileBatchRow = {
    id: newId('fileBatch'),
    knowledgeBaseId: baseId,
    organizationId,
    createdAt: new Date(deps.now()),
    cancelledAt: null,
  };
  await deps.db.sql.transaction(async (sql) => {
    const base = await findAndLockKnowledgeBase(sql, organizationId, baseId);
    await attachFiles(sql, deps, { call, base }, files);
    await insertFileBatch(sql, row, [...new Set(files.map(({ file_id }) => file_id))]);
  });
  return viewBatch(deps.db.sql, row);
}

function parseFiles({ file_ids, files, attributes, chunking_strategy }: CreateFileBatch): FileToAttach[] {
  if (files === undefined && file_ids === undefined) throw missingField('file_ids');
  if (files === undefined) {
    const shared = {
      ...(attributes !== undefined && { attributes }),
      ...(chunking_strategy !== undefined && { chunking_strategy }),
      strategyPath: 'chunking_strategy',
    };
    return (file_ids ?? []).map((file_id, index) => ({ file_id, ...shared, path: `file_ids.${index}` }));
  }
  if (file_ids !== undefined) throw invalidValue('files', "must not be combined with 'file_ids'");
  return files.map((file, index) => ({
    ...file,
    path: `files.${index}.file_id`,
    strategyPath: `files.${index}.chunking_strategy`,
  }));
}

/** Returns a file batch. Throws 404 `vector_store_not_found` and `file_batch_not_found`. */
export async function showFileBatch(deps: Pick<Deps, 'db'>, call: Call, path: FileBatchPath): Promise<FileBatch> {
  return viewBatch(deps.db.sql, (await findBatch(deps, call, path)).batch);
}

async function findBatch(
  deps: Pick<Deps, 'db'>,
  call: Call,
  { vector_store_id, file_batch_id }: FileBatchPath,
): Promise<{ base: KnowledgeBaseRow; batch: FileBatchRow }> {
  const base = await findStore(deps, call.caller.organizationId, vector_store_id);
  const select = () => selectFileBatch(deps.db.sql, base.id, file_batch_id);
  return { base, batch: await findRow('fileBatch', file_batch_id, 'file_batch_id', select) };
}

async function viewBatch(sql: Sql, { id, knowledgeBaseId, createdAt, cancelledAt }: FileBatchRow): Promise<FileBatch> {
  const counts = await countStoreFiles(sql, [knowledgeBaseId], isInBatch(id));
  const fileCounts = viewCounts(counts.get(knowledgeBaseId) ?? []);
  const { in_progress, failed, total } = fileCounts;
  const finished = total > 0 && failed === total ? 'failed' : 'completed';
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: toUnixSeconds(createdAt),
    vector_store_id: toVectorStoreId(knowledgeBaseId),
    status: cancelledAt !== null ? 'cancelled' : in_progress > 0 ? 'in_progress' : finished,
    file_counts: fileCounts,
  };
}

/**
 * Cancels the files of a batch that are not ingested; the others stay. A finished batch is returned unchanged. Throws
 * as `showFileBatch` does.
 */
export async function cancelFileBatch(
  deps: Pick<Deps, 'db' | 'now'>,
  call: Call,
  path: FileBatchPath,
): Promise<FileBatch> {
  const { base, batch } = await findBatch(deps, call, path);
  await deps.db.sql.transaction(async (sql) => {
    await findAndLockKnowledgeBase(sql, call.caller.organizationId, base.id);
    if ((await viewBatch(sql, batch)).status !== 'in_progress') return;
    await cancelBatchFiles(sql, batch);
    await updateCancelled(sql, batch.id, new Date(deps.now()));
  });
  return showFileBatch(deps, call, path);
}

/** Lists the files of a batch. Throws as `showFileBatch` does. */
export async function listBatchFiles(
  deps: Pick<Deps, 'db'>,
  call: Call,
  path: FileBatchPath,
  query: StoreFileListQuery,
) {
  const { base, batch } = await findBatch(deps, call, path);
  return listStoreFiles(deps, base, query, isInBatch(batch.id));
}
