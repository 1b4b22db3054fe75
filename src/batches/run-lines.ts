import type { Deps } from '../deps.ts';
import type { FairSemaphore } from '../lib/fair-semaphore.ts';
import { forEachConcurrent } from '../lib/for-each-concurrent.ts';
import { runPeriodically } from '../lib/run-periodically.ts';
import { restoreCaller } from '../lib/stored-caller.ts';
import type { BatchLineDeps } from './endpoints.ts';
import { requireInputFile } from './input-file.ts';
import { LineReader } from './line-reader.ts';
import { failPendingLines, type PendingLine, selectPendingLines } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import { orderByPrefix } from './order-key.ts';
import { ResultWriter, recordLeftUsage } from './result-writer.ts';
import { type LineContext, runLine } from './run-line.ts';
import { type BatchRow, lockBatch, selectBatchStatus, updateBatch } from './store.ts';

/** Dependencies of running batches. */
export type RunDeps = BatchLineDeps & Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'> & { permits: FairSemaphore };

/** Interval of the check for a cancellation, which any process may have received, and for the expiry. */
const WATCH_MS = 500;

const CANCELLED = { code: 'batch_cancelled', message: 'The batch was cancelled before this request was run.' };
const EXPIRED = { code: 'batch_expired', message: 'The batch expired before this request was run.' };

/**
 * Runs the lines of a batch that have no result, until all have one, the batch is cancelled or it expires. Lines in
 * progress then end; the others fail. Afterwards all lines have results, and the batch is ready for its files.
 */
export async function runLines(deps: RunDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  await recordLeftUsage(deps, batch.id);
  if (batch.status === 'in_progress') await runUntilStopped(deps, batch, signal);
  signal.throwIfAborted();
  await endRun(deps, batch);
}

async function runUntilStopped(deps: RunDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  const stopping = new AbortController();
  const watch = runPeriodically(WATCH_MS, 'watch batch', () => watchBatch(deps, batch, stopping), deps.logger);
  try {
    await runPendingLines(deps, batch, { signal, stop: AbortSignal.any([signal, stopping.signal]) });
  } finally {
    await watch.stop();
  }
}

/** Stops a batch that is not running any more. */
async function watchBatch({ db, now }: RunDeps, { id, expiresAt }: BatchRow, stopping: AbortController): Promise<void> {
  const isOver = now() >= expiresAt.getTime() || (await selectBatchStatus(db.sql, id)) !== 'in_progress';
  if (isOver) stopping.abort(new Error('the batch has stopped'));
}

async function runPendingLines(
  deps: RunDeps,
  batch: BatchRow,
  { signal, stop }: Pick<LineContext, 'signal' | 'stop'>,
): Promise<void> {
  const file = await requireInputFile(deps, batch);
  const pending = orderByPrefix(await selectPendingLines(deps.db.sql, batch.id));
  const reader = new LineReader(deps, file, pending);
  const caller = restoreCaller(batch.caller);
  const writer = new ResultWriter(deps, batch.id);
  const context: LineContext = { deps, permits: deps.permits, batch, caller, reader, signal, stop };
  const run = async (line: PendingLine) => {
    const result = await runLine(context, line).catch((error: unknown) => {
      // A line that was stopped stays pending.
      if (stop.aborted) return null;
      throw error;
    });
    if (result !== null) await writer.add(result);
  };
  try {
    await forEachConcurrent(pending, deps.permits.total, run, stop);
  } finally {
    await writer.flush();
  }
}

/** Decides how the run ended, and fails lines that were not run. Changes nothing if another process has done so. */
async function endRun({ db, metrics, now }: RunDeps, batch: BatchRow): Promise<void> {
  const notRun = { cancelled: 0, expired: 0 };
  await db.sql.transaction(async (sql) => {
    const current = await lockBatch(sql, batch.organizationId, batch.id);
    if (current?.status === 'cancelling') {
      notRun.cancelled = await failPendingLines(sql, batch.id, JSON.stringify(CANCELLED));
    } else if (current?.status === 'in_progress' && current.expiredAt === null) {
      const at = new Date(now());
      if (current.completedLines + current.failedLines === current.totalLines) {
        await updateBatch(sql, current, { status: 'finalizing', finalizingAt: at });
      } else if (at >= current.expiresAt) {
        notRun.expired = await failPendingLines(sql, batch.id, JSON.stringify(EXPIRED));
        await updateBatch(sql, current, { expiredAt: at });
      } else throw new Error(`lines of ${batch.id} have no result`);
    }
  });
  batchMetrics(metrics).linesEnded('cancelled', notRun.cancelled);
  batchMetrics(metrics).linesEnded('expired', notRun.expired);
}
