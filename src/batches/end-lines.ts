import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { failPendingLines } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import { deleteUnstartedRanges, hasRange } from './range-store.ts';
import { type BatchRow, updateBatch } from './store.ts';

const CANCELLED = { code: 'batch_cancelled', message: 'The batch was cancelled before this request was run.' };
const EXPIRED = { code: 'batch_expired', message: 'The batch expired before this request was run.' };

/** Lines that failed because their batch ended before they ran. */
export interface UnrunLines {
  cancelled: number;
  expired: number;
}

/**
 * Ends the lines of a batch unless ranges of it run: fails those that were not run, after a cancellation or an expiry.
 * Afterwards all lines have results, and the batch is ready for its files. Returns null when ranges run or the lines
 * have ended already. `batch` is a locked row.
 */
export async function endLines(sql: Sql, batch: BatchRow, at: Date): Promise<UnrunLines | null> {
  const { id, status, expiresAt, expiredAt } = batch;
  if (status !== 'cancelling' && (status !== 'in_progress' || expiredAt !== null)) return null;
  const isStopped = status === 'cancelling' || at >= expiresAt;
  if (isStopped) await deleteUnstartedRanges(sql, id);
  if (await hasRange(sql, id)) return null;
  if (status === 'cancelling') {
    return { cancelled: await failPendingLines(sql, id, JSON.stringify(CANCELLED)), expired: 0 };
  }
  if (batch.completedLines + batch.failedLines === batch.totalLines) {
    await updateBatch(sql, batch, { status: 'finalizing', finalizingAt: at });
    return { cancelled: 0, expired: 0 };
  }
  if (!isStopped) throw new Error(`lines of ${id} have no result`);
  await updateBatch(sql, batch, { expiredAt: at });
  return { cancelled: 0, expired: await failPendingLines(sql, id, JSON.stringify(EXPIRED)) };
}

/** Counts lines that were not run. Called after the transaction of `endLines`. */
export function countUnrunLines({ metrics }: Pick<Deps, 'metrics'>, unrun: UnrunLines | null): void {
  batchMetrics(metrics).linesEnded('cancelled', unrun?.cancelled ?? 0);
  batchMetrics(metrics).linesEnded('expired', unrun?.expired ?? 0);
}
