import type { Deps } from '../deps.ts';
import { useFile } from '../files/use-file.ts';
import { checkMetadata } from '../knowledge-bases/metadata.ts';
import type { Caller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { storeCaller } from '../lib/stored-caller.ts';
import { enqueueBatch } from './batch-job.ts';
import { type Batch, COMPLETION_WINDOW_MS, type CreateBatch } from './schema.ts';
import { type BatchRow, insertBatch } from './store.ts';
import { viewBatch } from './view-batch.ts';

/**
 * Creates a batch, which a job validates and runs. Throws 404 `file_not_found` and 400 for a file of another purpose,
 * both with param `input_file_id`, and 400 for too large metadata.
 */
export async function createBatch(
  deps: Pick<Deps, 'db' | 'jobs' | 'now'>,
  caller: Caller,
  body: CreateBatch,
): Promise<Batch> {
  const now = deps.now();
  const { organizationId } = caller;
  const id = newId('batch');
  const row: BatchRow = {
    id,
    organizationId,
    caller: storeCaller(caller),
    endpoint: body.endpoint as BatchRow['endpoint'],
    inputFileId: body.input_file_id,
    status: 'validating',
    metadata: checkMetadata(body.metadata ?? {}, 'metadata'),
    outputExpirySeconds: body.output_expires_after?.seconds ?? null,
    model: null,
    errors: null,
    outputFileId: null,
    errorFileId: null,
    totalLines: 0,
    completedLines: 0,
    failedLines: 0,
    costMicros: 0,
    ...{ promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
    createdAt: new Date(now),
    expiresAt: new Date(now + COMPLETION_WINDOW_MS),
    inProgressAt: null,
    finalizingAt: null,
    completedAt: null,
    failedAt: null,
    expiredAt: null,
    cancellingAt: null,
    cancelledAt: null,
  };
  const use = { fileId: body.input_file_id, purpose: 'batch', userId: id, param: 'input_file_id' } as const;
  await deps.db.sql.transaction(async (sql) => {
    await useFile(sql, organizationId, use, row.createdAt);
    await insertBatch(sql, row);
    await enqueueBatch(sql, deps.jobs, { batchId: id, organizationId });
  });
  return viewBatch(row);
}
