import type { Deps } from '../deps.ts';
import { batchNotCancellable, notFound } from '../errors.ts';
import { deleteFileUses } from '../files/store.ts';
import { isId } from '../lib/ids.ts';
import { deleteLines } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import type { Batch } from './schema.ts';
import { type BatchRow, lockBatch, updateBatch } from './store.ts';
import { viewBatch } from './view-batch.ts';

/**
 * Cancels a batch. While its file is validated, nothing has run and it is `cancelled` at once. Otherwise it is
 * `cancelling` until the lines in progress have ended. Idempotent while it is `cancelling`. Throws 404
 * `batch_not_found`, and 409 `batch_not_cancellable` when all lines have ended.
 */
export async function cancelBatch(
  deps: Pick<Deps, 'db' | 'metrics' | 'now'>,
  organizationId: string,
  id: string,
): Promise<Batch> {
  if (!isId('batch', id)) throw notFound('batch', id, 'batch_id');
  const at = new Date(deps.now());
  const cancelled = await deps.db.sql.transaction(async (sql) => {
    const row = await lockBatch(sql, organizationId, id);
    if (row === null) throw notFound('batch', id, 'batch_id');
    if (row.status === 'cancelling') return row;
    const changes = cancellationFields(row, at);
    if (row.status === 'validating') {
      await deleteLines(sql, id);
      await deleteFileUses(sql, id);
    }
    return (await updateBatch(sql, row, changes)) ?? row;
  });
  if (cancelled.status === 'cancelled') batchMetrics(deps.metrics).ended('cancelled');
  return viewBatch(cancelled);
}

function cancellationFields(row: BatchRow, at: Date): Partial<BatchRow> {
  if (row.status === 'validating') return { status: 'cancelled', cancellingAt: at, cancelledAt: at };
  if (row.status === 'in_progress' && row.expiredAt === null) return { status: 'cancelling', cancellingAt: at };
  throw batchNotCancellable(row.id, row.status);
}
