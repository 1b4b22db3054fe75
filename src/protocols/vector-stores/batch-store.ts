import { and, eq, sql as expression, type SQL } from 'drizzle-orm';
import type { Sql } from '../../db/db.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { toJobError } from '../../knowledge-bases/jobs/job-error.ts';
import { fileBatches, fileBatchFiles } from './tables.ts';

/** A row of `vector_store_file_batches`. */
export type FileBatchRow = typeof fileBatches.$inferSelect;

/** Inserts a batch with its files. */
export async function insertFileBatch(sql: Sql, row: FileBatchRow, fileIds: readonly string[]): Promise<void> {
  await sql.insert(fileBatches).values(row);
  await sql.insert(fileBatchFiles).values(fileIds.map((fileId) => ({ batchId: row.id, fileId })));
}

/** Selects a batch of a knowledge base, or null. */
export async function selectFileBatch(sql: Sql, baseId: string, id: string): Promise<FileBatchRow | null> {
  const isBatch = and(eq(fileBatches.id, id), eq(fileBatches.knowledgeBaseId, baseId));
  return (await sql.select().from(fileBatches).where(isBatch))[0] ?? null;
}

/** Sets the time at which a batch was cancelled. */
export async function updateCancelled(sql: Sql, id: string, cancelledAt: Date): Promise<void> {
  await sql.update(fileBatches).set({ cancelledAt }).where(eq(fileBatches.id, id));
}

/** Condition on the files of `countStoreFiles` and `selectStoreFiles`. */
export function isInBatch(batchId: string): SQL {
  return expression`s.type = 'api' and f.item_key in (${selectBatchFileIds(batchId)})`;
}

const selectBatchFileIds = (batchId: string): SQL =>
  expression`select b.file_id from vector_store_file_batch_files b where b.batch_id = ${batchId}`;

/**
 * Cancels the files of a batch that are not ingested, in the transaction that locks the knowledge base. A job that
 * reads one of them at present may still finish it.
 */
export async function cancelBatchFiles(sql: Sql, { id, knowledgeBaseId }: FileBatchRow): Promise<void> {
  const error = toJobError(new IngestionError('cancelled', 'The file batch was cancelled.'));
  const isPosted = expression`p.data_source_id in (
      select s.id from data_sources s where s.knowledge_base_id = ${knowledgeBaseId} and s.type = 'api'
    ) and p.key in (${selectBatchFileIds(id)})`;
  await sql.execute(expression`
    update posted_documents p set is_cancelled = true
    where ${isPosted} and not exists (
      select from documents d
      where d.data_source_id = p.data_source_id and d.item_key = p.key and d.fingerprint = p.fingerprint
    )`);
  await sql.execute(expression`
    update documents d set status = 'failed', error = ${JSON.stringify(error)}::jsonb
    from posted_documents p
    where ${isPosted} and p.is_cancelled and d.data_source_id = p.data_source_id and d.item_key = p.key
      and d.status = 'processing'`);
}
